import { describe, expect, it } from '@jest/globals';
import { faultSentence, faultsSentence } from '../../../contract/faults/sentence.ts';
import { kernelFault, podFault } from '../../support/builders.ts';

describe('a fault as a sentence', () => {
  it.each([
    [kernelFault(), 'xid/79 on gpu-3 (0000:5d:00): GPU has fallen off the bus'],
    [
      kernelFault({ message: 'GPU has fallen off the bus. ' }),
      'xid/79 on gpu-3 (0000:5d:00): GPU has fallen off the bus',
    ],
    [podFault(), 'pod/exit on gpu-3: container pytorch of llm-worker-2 exited with 1 (Error)'],
  ])('names code, node and device, and does not end in the middle of another sentence', (fault, sentence) => {
    expect(faultSentence(fault)).toBe(sentence);
  });
});

describe('several faults in one sentence', () => {
  const exit = podFault({ id: 'pod/a/containerd://a' });
  const evicted = podFault({ id: 'pod/a/Evicted', code: 'pod/evicted', message: 'llm-worker-2 was evicted' });

  it('are described by the one that explains the others', () => {
    expect(faultsSentence([exit, evicted])).toBe('pod/evicted on gpu-3: llm-worker-2 was evicted (and 1 more)');
    expect(faultsSentence([evicted, exit, kernelFault()])).toMatch(/^xid\/79 .*\(and 2 more\)$/);
  });
});

import { describe, expect, it } from '@jest/globals';
import { attemptInShort, digestOf } from '../../activities/attempt-in-short.ts';
import type { AttemptPod } from '../../contract/jobs.ts';

const pods = (count: number, prefix = 'a'): AttemptPod[] =>
  Array.from({ length: count }, (_, index) => ({ name: `llm-${index}`, uid: `${prefix}-${index}`, node: `gpu-${index}` }));

describe('a look at an attempt', () => {
  it('names every pod of a small one', () => {
    expect(attemptInShort({ pods: pods(200), leaving: [] }, { nodes: [] })).toEqual({ pods: pods(200) });
  });

  it('names of a large one the first, those that faults name and those on blamed nodes, and counts the others', () => {
    const all = pods(5000);
    const leaving = pods(300, 'going');
    const seen = attemptInShort({ pods: all, leaving }, { nodes: ['gpu-30'], pods: ['a-4000', 'gone'] });
    expect(seen.pods.map(({ name }) => name)).toEqual(['llm-0', 'llm-30', 'llm-4000']);
    expect(seen.leaving).toMatchObject([{ uid: 'going-30' }]);
    expect(seen.more).toEqual({ pods: 4997, leaving: 299, digest: digestOf({ pods: all, leaving }) });
  });

  it('has another digest for other pods, and the same in another order', () => {
    const all = { pods: pods(300), leaving: pods(3, 'b') };
    expect(digestOf({ pods: all.pods.toReversed(), leaving: all.leaving })).toBe(digestOf(all));
    expect(digestOf({ pods: pods(300, 'c'), leaving: all.leaving })).not.toBe(digestOf(all));
  });
});

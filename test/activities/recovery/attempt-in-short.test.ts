import { describe, expect, it } from '@jest/globals';
import { attemptInShort, digestOf } from '../../../activities/recovery/attempt-in-short.ts';
import { nodeNotReady } from '../../../contract/faults/faults.ts';
import type { AttemptPod } from '../../../contract/job/jobs.ts';
import type { AttemptFacts } from '../../../contract/recovery/recovery.ts';
import { completed } from '../../../workflows/recovery/whole-attempt.ts';
import { decideRecovery } from '../../../policy/recovery/recovery.ts';
import { jobView, kernelFault, podFault, settings, tainted } from '../../support/builders.ts';

const pods = (count: number, prefix = 'a'): AttemptPod[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `llm-${index}`,
    uid: `${prefix}-${index}`,
    node: `gpu-${index}`,
  }));

describe('a look at an attempt', () => {
  it('names every pod of a small one', () => {
    expect(attemptInShort({ pods: pods(200), terminating: [] }, { nodes: [] })).toEqual({ pods: pods(200) });
  });

  it('names of a large one the first, those that faults name and those on blamed nodes, and counts the others', () => {
    const all = pods(5000);
    const terminating = pods(300, 'going');
    const seen = attemptInShort({ pods: all, terminating }, { nodes: ['gpu-30'], pods: ['a-4000', 'gone'] });
    expect(seen.pods.map(({ name }) => name)).toEqual(['llm-0', 'llm-30', 'llm-4000']);
    expect(seen.terminating).toMatchObject([{ uid: 'going-30' }]);
    expect(seen.more).toEqual({ pods: 4997, terminating: 299, digest: digestOf(all) });
  });

  it('has another digest for other pods, and the same in another order', () => {
    const all = pods(300);
    expect(digestOf(all.toReversed())).toBe(digestOf(all));
    expect(digestOf(pods(300, 'c'))).not.toBe(digestOf(all));
  });
});

describe('the list of every pod of a large attempt', () => {
  const all = pods(300);
  const going = pods(3, 'going');
  const more = attemptInShort({ pods: all, terminating: going }, { nodes: [] }).more ?? {
    pods: 0,
    terminating: 0,
    digest: 'none',
  };
  const facts = { pods: all.slice(0, 1), terminating: going, nodes: [], undecided: [], more };

  it('is that of the look when terminating pods are gone since', () => {
    const seen = completed(facts, { pods: all, terminating: going.slice(1), digest: digestOf(all) });
    expect(seen).toMatchObject({ pods: all, terminating: going.slice(1), more: { pods: 0, terminating: 0 } });
  });

  it('is another when one of those present was replaced', () => {
    const others = [...all.slice(1), ...pods(1, 'made-anew')];
    expect(completed(facts, { pods: others, terminating: going, digest: digestOf(others) })).toBe('others run');
  });

  it('says nothing of them when nothing could be observed', () => {
    expect(completed(facts, { pods: [], terminating: [], digest: '', unobservable: 'no answer' })).toBe('not seen');
  });
});

describe('the next step of a recovery, decided from a large attempt in short', () => {
  const act = settings({ mode: 'act' });
  const whole = { pods: pods(5000), terminating: pods(300, 'going') };
  const oldestPodAt = '2026-11-21T06:00:00Z';
  const failed = (uid: string, createdAt = oldestPodAt) =>
    podFault({ id: `pod/${uid}`, seenAt: '2026-11-21T07:00:00Z', pod: { name: `llm-${uid}`, uid, createdAt } });
  const onNode = (node: string, code = 'xid/79') =>
    kernelFault({ id: `${node}/${code}`, code, node, quarantine: { state: 'quarantined', because: code } });

  it.each([
    ['a pod that failed', failed('a-4000')],
    ['the first pod', failed('a-0')],
    ['a pod that somebody deleted', failed('going-7')],
    ['a pod that is gone, beside others that stay', failed('gone')],
    ['a pod of an earlier attempt', { ...failed('gone', '2026-11-21T05:00:00Z'), seenAt: '2026-11-21T05:30:00Z' }],
    ['a node under a pod', onNode('gpu-30')],
    ['a node under a pod that somebody deleted', onNode('gpu-30', nodeNotReady)],
    ['a node under no pod', onNode('gpu-6000')],
  ])('is what it would be from all of its pods: %s', (_, fault) => {
    const nodes = fault.node === undefined ? [] : [fault.node];
    const decide = (seen: Pick<AttemptFacts, 'pods' | 'terminating' | 'more'>) => {
      const attempt = {
        job: jobView({ podsExpected: 5000, overrides: { ignored: [], level: 'pod' } }),
        ...seen,
        oldestPodAt,
        nodes: nodes.map((name) => tainted({ name })),
        undecided: [],
      };
      return decideRecovery({ attempt, fresh: [fault], handled: [], stops: 0, attempts: 3, asked: false }, act);
    };
    const short = attemptInShort(whole, { nodes, ...(fault.pod && { pods: [fault.pod.uid] }) });
    expect(short.pods.length).toBeLessThan(5);
    expect(decide(short)).toEqual(decide(whole));
  });
});

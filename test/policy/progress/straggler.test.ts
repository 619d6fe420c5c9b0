import { describe, expect, it } from '@jest/globals';
import { judgeStraggler, type RankedPod } from '../../../policy/progress/straggler.ts';

const at = '2026-11-21T07:10:00.000Z';
const pods: readonly RankedPod[] = [0, 1, 2].map((rank) => ({
  name: `llm-${rank}`,
  node: `gpu-${rank}`,
  rank,
  accelerators: 8,
}));
const named = (rank: number, of: readonly RankedPod[] = pods, reports = 5) =>
  judgeStraggler({ at, rank, reports }, of).suspects?.map(({ pod, node }) => `${pod} on ${node}`);

describe('the rank that a trainer names as its slowest', () => {
  it('says nothing before it was named five times in a row', () => {
    expect(judgeStraggler({ at, rank: 17, reports: 4 }, pods)).toEqual({});
    expect(judgeStraggler(undefined, pods)).toEqual({});
  });

  it('is in the pod that has its accelerator', () => {
    expect([named(0), named(7), named(8), named(23)]).toEqual([
      ['llm-0 on gpu-0'],
      ['llm-0 on gpu-0'],
      ['llm-1 on gpu-1'],
      ['llm-2 on gpu-2'],
    ]);
  });

  it.each<[sentence: string, of: readonly RankedPod[]]>([
    [
      'the pods have different numbers of accelerators',
      pods.map((pod) => ({ ...pod, accelerators: 8 - (pod.rank ?? 0) })),
    ],
    ['they have none', pods.map(({ name, node, rank }) => ({ name, node, rank }))],
    ['it is not known which of them has which rank', pods.map((pod) => ({ ...pod, rank: undefined }))],
    ['no pod is known', []],
  ])('is only a witness where %s', (_sentence, of) => {
    expect(named(17, of)).toBeUndefined();
    expect(judgeStraggler({ at, rank: 17, reports: 5 }, of).witnesses).toEqual([
      'the last 5 straggler reports in the log name rank 17 as the slowest',
    ]);
  });

  it('is in no pod where there are fewer of them', () => {
    expect(named(24)).toBeUndefined();
  });
});

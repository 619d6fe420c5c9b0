import { describe, expect, it } from '@jest/globals';
import { findCapacity } from '../../../activities/recovery/find-capacity.ts';
import type { NodeCapacity, PodShape } from '../../../contract/recovery/placement.ts';
import type { BoundPod, WantedCapacity } from '../../../kube/capacity.ts';

const gpu = 'nvidia.com/gpu';
const standbyTaint = 'kcover.io/spare';
const empty = {
  ready: true,
  unschedulable: false,
  taints: [],
  labels: {},
  allocatable: { [gpu]: 8, pods: 100 },
  used: {},
} as const;

const nodes = (count: number, more: Partial<NodeCapacity> = {}, prefix = 'gpu'): NodeCapacity[] =>
  Array.from({ length: count }, (_, index) => ({ ...empty, ...more, name: `${prefix}-${index}` }));
const shape = (count: number): PodShape => ({
  count,
  fixed: false,
  requests: { [gpu]: 8, pods: 1 },
  labels: {},
  nodes: [],
  tolerations: [],
  apart: [],
});
const wanted = (count: number): WantedCapacity => ({
  shapes: [shape(count)],
  isReplaced: ({ metadata }) => metadata?.uid === 'ours',
});
const pod = (node: string, uid = 'other'): BoundPod => ({
  metadata: { namespace: 'train', uid, labels: {} },
  node,
  requests: { [gpu]: 1, pods: 1 },
});

/** Looks for capacity, and returns whose pods were listed. */
async function look(
  all: readonly NodeCapacity[],
  count: number,
  bound: (node: string) => readonly BoundPod[] = () => [],
) {
  const asked: string[][] = [];
  const podsOn = async (names: readonly string[]): Promise<readonly BoundPod[]> => {
    asked.push([...names]);
    return names.flatMap(bound);
  };
  const facts = await findCapacity({ nodes: async () => all, podsOn }, wanted(count), standbyTaint);
  return { facts, asked, names: asked.flat() };
}

describe('a look for capacity', () => {
  it('asks for the pods of no more nodes than it takes', async () => {
    const { facts, asked } = await look(nodes(10_000), 64);
    expect(facts).toMatchObject({ needed: 64, fit: 64 });
    expect(asked.map(({ length }) => length)).toEqual([100]);
  });

  it('lists the pods of further nodes until all pods fit', async () => {
    const { facts, asked } = await look(nodes(10_000), 64, (node) =>
      Number(node.split('-')[1]) < 200 ? [pod(node)] : [],
    );
    expect(facts).toMatchObject({ needed: 64, fit: 64 });
    expect(asked.map(({ length }) => length)).toEqual([100, 200]);
  });

  it('has asked for the pods of every node that could take them, each once, before it says that there is too little', async () => {
    const { facts, names } = await look(
      [...nodes(1000), ...nodes(500, { unschedulable: true }, 'cordoned')],
      64,
      (node) => (node === 'gpu-7' ? [] : [pod(node)]),
    );
    expect(facts).toMatchObject({ needed: 64, fit: 1 });
    expect(facts.because).toContain('500 nodes: cordoned');
    expect(names.toSorted()).toEqual(
      nodes(1000)
        .map(({ name }) => name)
        .toSorted(),
    );
  });

  it('asks nothing about nodes that accept no such pod, whatever is on them', async () => {
    const others = [
      ...nodes(5, { ready: false }, 'down'),
      ...nodes(5, { allocatable: { cpu: 64_000, pods: 100 } }, 'cpu'),
      ...nodes(5, { taints: [{ key: 'x', effect: 'NoSchedule' }] }, 'tainted'),
    ];
    const { facts, names } = await look([...others, ...nodes(2)], 4);
    expect(facts).toMatchObject({ needed: 4, fit: 2 });
    expect(names.toSorted()).toEqual(['gpu-0', 'gpu-1']);
  });

  it('looks at standby nodes last, and counts what they could take', async () => {
    const standbyNodes = nodes(3, { taints: [{ key: standbyTaint, effect: 'NoSchedule' }] }, 'standby');
    const { facts, names } = await look([...standbyNodes, ...nodes(2)], 4);
    expect(facts).toMatchObject({ needed: 4, fit: 2, fitWithStandby: 4 });
    expect(names.slice(0, 2).toSorted()).toEqual(['gpu-0', 'gpu-1']);
    expect(facts.standbyNodes).toHaveLength(2);
  });

  it('treats terminating pods as gone', async () => {
    expect((await look(nodes(2), 2, (node) => [pod(node, 'ours')])).facts).toMatchObject({ fit: 2 });
    expect((await look(nodes(2), 2, (node) => [pod(node)])).facts).toMatchObject({ fit: 0 });
  });

  it('ends where there is no node', async () => {
    expect(await look([], 2)).toMatchObject({ facts: { needed: 2, fit: 0 }, asked: [] });
  });
});

import { describe, expect, it } from '@jest/globals';
import type { NodeCapacity, PodShape } from '../../../contract/recovery/placement.ts';
import { capacityOf, placePods } from '../../../policy/capacity/placement.ts';

const gpu = 'nvidia.com/gpu';
const standbyTaint = 'kcover.io/spare';

const node = (name: string, more: Partial<NodeCapacity> = {}): NodeCapacity => ({
  name,
  ready: true,
  unschedulable: false,
  taints: [],
  labels: { 'kubernetes.io/hostname': name, pool: 'h100' },
  allocatable: { cpu: 192_000, memory: 2 ** 41, pods: 110, [gpu]: 8 },
  used: {},
  ...more,
});
const nodes = (count: number, more: Partial<NodeCapacity> = {}): NodeCapacity[] =>
  Array.from({ length: count }, (_, index) => node(`gpu-${index}`, more));
const workers = (count: number, more: Partial<PodShape> = {}): PodShape => ({
  count,
  fixed: false,
  requests: { [gpu]: 8, pods: 1 },
  labels: { job: 'llm' },
  nodes: [],
  tolerations: [],
  apart: [],
  ...more,
});
const maintenance = { key: 'maintenance', value: 'true', effect: 'NoSchedule' };
const find = (given: readonly NodeCapacity[], ...shapes: PodShape[]) => placePods(given, shapes, standbyTaint);

describe('a node', () => {
  const busy = { used: { [gpu]: 1 } };
  it.each<[sentence: string, capacity: Partial<NodeCapacity>, pods: Partial<PodShape>, because: string | undefined]>([
    ['takes a pod that fits', {}, {}, undefined],
    ['that is not ready takes none', { ready: false }, {}, 'not ready'],
    ['that is cordoned takes none', { unschedulable: true }, {}, 'cordoned'],
    ['with a taint takes none', { taints: [maintenance] }, {}, 'taint maintenance=true'],
    [
      'that an autoscaler is about to delete takes none',
      { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value: '1700000000', effect: 'NoSchedule' }] },
      {},
      'taint ToBeDeletedByClusterAutoscaler=1700000000',
    ],
    ['with a taint that only evicts takes none', { taints: [{ key: 'gone', effect: 'NoExecute' }] }, {}, 'taint gone'],
    [
      'with a PreferNoSchedule taint takes pods',
      { taints: [{ key: 'busy', effect: 'PreferNoSchedule' }] },
      {},
      undefined,
    ],
    [
      'with a taint that the pods tolerate takes them',
      { taints: [maintenance] },
      { tolerations: [{ key: 'maintenance', value: 'true' }] },
      undefined,
    ],
    [
      'with another value than they tolerate takes none',
      { taints: [maintenance] },
      { tolerations: [{ key: 'maintenance', value: 'no' }] },
      'taint maintenance=true',
    ],
    [
      'takes pods that tolerate everything',
      { taints: [maintenance], unschedulable: true },
      { tolerations: [{ operator: 'Exists' }] },
      undefined,
    ],
    ['of which too much is taken takes none', busy, {}, `7 of 8 ${gpu} free`],
    ['without the resource takes none', { allocatable: { cpu: 1000, pods: 110 } }, {}, `no ${gpu}`],
    ['without enough memory takes none', {}, { requests: { memory: 2 ** 42 } }, 'too little memory'],
    ['that is full of pods takes none', { used: { pods: 110 } }, {}, 'no free pod slot'],
    [
      'of the pool that is asked for takes pods',
      {},
      { nodes: [[{ key: 'pool', operator: 'In', values: ['h100', 'h200'] }]] },
      undefined,
    ],
    [
      'of another pool takes none',
      {},
      { nodes: [[{ key: 'pool', operator: 'NotIn', values: ['h100'] }]] },
      'labels do not match',
    ],
    [
      'that meets one of several terms takes pods',
      {},
      { nodes: [[{ key: 'x', operator: 'Exists' }], [{ key: 'x', operator: 'DoesNotExist' }]] },
      undefined,
    ],
    [
      'must meet all of a term',
      {},
      {
        nodes: [
          [
            { key: 'pool', operator: 'Exists' },
            { key: 'x', operator: 'Exists' },
          ],
        ],
      },
      'labels do not match',
    ],
    [
      'with a number above the least takes pods',
      { labels: { gen: '9' } },
      { nodes: [[{ key: 'gen', operator: 'Gt', values: ['8'] }]] },
      undefined,
    ],
    [
      'without the number takes none',
      {},
      { nodes: [[{ key: 'gen', operator: 'Gt', values: ['8'] }]] },
      'labels do not match',
    ],
    [
      'of which more is taken than it has takes pods that ask for none of it',
      { used: { [gpu]: 9 } },
      { requests: { [gpu]: 0, pods: 1 } },
      undefined,
    ],
    [
      'with a pod to keep away from takes none',
      { podLabels: [{ app: 'noisy' }] },
      { apart: [[{ key: 'app', operator: 'In', values: ['noisy'] }]] },
      'anti-affinity to a pod there',
    ],
  ])('%s', (_, capacity, pods, because) => {
    const found = find([node('gpu-0', capacity)], workers(1, pods));
    expect(found.fit).toBe(because === undefined ? 1 : 0);
    if (because !== undefined) expect(found.because).toBe(`1 node: ${because}`);
  });
});

describe('pods of one job', () => {
  it('fit as far as nodes have capacity', () => {
    expect(find(nodes(3), workers(4))).toMatchObject({ needed: 4, fit: 3, because: 'no other nodes' });
  });

  it('share a node that has capacity for several', () => {
    expect(find(nodes(1), workers(4, { requests: { [gpu]: 2 } })).fit).toBe(4);
    expect(find(nodes(1), workers(5, { requests: { [gpu]: 2 } })).fit).toBe(4);
  });

  it('share no node with anti-affinity', () => {
    const apart = [[{ key: 'job', operator: 'In', values: ['llm'] }]];
    expect(find(nodes(3), workers(4, { requests: { [gpu]: 2 }, apart })).fit).toBe(3);
    const master = workers(1, { fixed: true, requests: { [gpu]: 1 }, apart });
    expect(find(nodes(3), workers(3, { requests: { [gpu]: 1 }, apart }), master).fit).toBe(3);
  });

  it('leave whole nodes to those that need them', () => {
    const half = node('half', { used: { [gpu]: 6 } });
    const small = workers(1, { fixed: true, requests: { [gpu]: 2 } });
    expect(find([node('a'), half, node('b')], small, workers(2)).fit).toBe(3);
  });

  it('that may go to few nodes come before those that may go to any', () => {
    const master = workers(1, { fixed: true });
    const picky = workers(1, { nodes: [[{ key: 'pool', operator: 'In', values: ['h200'] }]] });
    const given = [node('a', { labels: { pool: 'h200' } }), node('b')];
    expect(find(given, master, picky)).toMatchObject({ fit: 2, fixedFit: true });
  });

  it('that ask for more come before those that ask for less', () => {
    const master = workers(1, { fixed: true, requests: { [gpu]: 1, pods: 1 } });
    const given = [node('a'), node('b', { allocatable: { [gpu]: 9, pods: 110 } })];
    expect(find(given, master, workers(2)).fit).toBe(3);
    // Not all fit: a smaller job needs its master.
    expect(find(nodes(2), master, workers(2))).toMatchObject({ fit: 2, fixedFit: true });
  });

  it('without accelerators leave the nodes with them alone', () => {
    const launcher = workers(1, { fixed: true, requests: { cpu: 1000 } });
    const plain = node('cpu-0', { allocatable: { cpu: 8000, pods: 110 } });
    expect(find([...nodes(1), plain], launcher, workers(1, { requests: { [gpu]: 8, cpu: 192_000 } })).fit).toBe(2);
  });

  it('list obstacles by number of nodes, most frequent first', () => {
    const given = [
      ...nodes(2),
      ...nodes(3, { taints: [maintenance] }).map((each, index) => ({ ...each, name: `m-${index}` })),
      node('full-0', { used: { [gpu]: 8 } }),
      node('full-1', { used: { [gpu]: 8 } }),
      node('down', { ready: false }),
    ];
    expect(find(given, workers(4)).because).toBe(
      `3 nodes: taint maintenance=true; 2 nodes: 0 of 8 ${gpu} free; 1 node: not ready`,
    );
  });

  it('list no more than five reasons', () => {
    const given = Array.from({ length: 9 }, (_, index) =>
      node(`n-${index}`, { taints: [{ key: `t${index}`, effect: 'NoSchedule' }] }),
    );
    expect(find(given, workers(1)).because).toBe(
      '1 node: taint t0; 1 node: taint t1; 1 node: taint t2; 1 node: taint t3; 1 node: taint t4; 4 nodes: other reasons',
    );
  });

  it('fit in the same way whatever the order of the nodes', () => {
    const given = [
      ...nodes(5),
      node('half', { used: { [gpu]: 4 } }),
      node('standby-0', { taints: [{ key: standbyTaint, effect: 'NoSchedule' }] }),
    ];
    const shapes = [workers(6), workers(1, { fixed: true, requests: { [gpu]: 4 } })];
    expect(placePods(given.toReversed(), shapes.toReversed(), standbyTaint)).toEqual(
      placePods(given, shapes, standbyTaint),
    );
  });

  it('are placed among five thousand nodes', () => {
    const given = Array.from({ length: 5000 }, (_, index) =>
      node(`n-${index}`, index % 3 === 0 ? { taints: [maintenance] } : { used: { [gpu]: index % 8 } }),
    );
    const whole = given.filter(({ taints, used }) => taints.length === 0 && used[gpu] === 0).length;
    expect(find(given, workers(5000))).toMatchObject({
      fit: whole,
      because: expect.stringMatching(/^1667 nodes: taint maintenance=true; /),
    });
  });
});

describe('standby nodes', () => {
  const standbyNodes = (name: string, more: Partial<NodeCapacity> = {}): NodeCapacity =>
    node(name, { taints: [{ key: standbyTaint, effect: 'NoSchedule' }], ...more });

  it('take pods that fit nowhere else, with as few nodes as possible', () => {
    expect(find([...nodes(3), standbyNodes('s-0'), standbyNodes('s-1')], workers(4))).toMatchObject({
      fit: 3,
      fitWithStandby: 4,
      standbyNodes: ['s-0'],
    });
  });

  it('are left alone when there is capacity', () => {
    expect(find([...nodes(4), standbyNodes('s-0')], workers(4))).toMatchObject({
      fit: 4,
      fitWithStandby: 4,
      standbyNodes: [],
    });
  });

  it('that take the most are taken first', () => {
    const given = [standbyNodes('s-0', { used: { [gpu]: 6 } }), standbyNodes('s-1')];
    expect(find(given, workers(2, { requests: { [gpu]: 2 } }))).toMatchObject({
      fitWithStandby: 2,
      standbyNodes: ['s-1'],
    });
  });

  it.each<[sentence: string, more: Partial<NodeCapacity>]>([
    ['not ready', { ready: false }],
    ['cordoned', { unschedulable: true }],
    [
      'quarantined',
      {
        taints: [
          { key: standbyTaint, effect: 'NoSchedule' },
          { key: 'kcover.io/quarantine', value: 'xid-79', effect: 'NoSchedule' },
        ],
      },
    ],
  ])('that are %s are none', (_, more) => {
    expect(find([...nodes(3), standbyNodes('s-0', more)], workers(4))).toMatchObject({
      fit: 3,
      fitWithStandby: 3,
      standbyNodes: [],
    });
  });
});

describe('sizes', () => {
  const sizes = { now: 4, least: 2 };
  it('are given while all fixed pods fit', () => {
    const master = workers(1, { fixed: true });
    expect(capacityOf({ nodes: nodes(2), shapes: [workers(3), master], sizes }, standbyTaint)).toMatchObject({
      fit: 2,
      sizes,
    });
  });

  it('are missing when a fixed pod does not fit', () => {
    const big = workers(1, { fixed: true, requests: { [gpu]: 16 } });
    const facts = capacityOf({ nodes: nodes(3), shapes: [workers(3), big], sizes }, standbyTaint);
    expect(facts).toMatchObject({ fit: 3, because: `3 nodes: only 8 ${gpu}` });
    expect(facts.sizes).toBeUndefined();
  });
});

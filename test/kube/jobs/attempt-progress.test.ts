import { describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { attemptProgress, type ObservedAttempt } from '../../../kube/jobs/attempt-progress.ts';
import { job as ref, jobView } from '../../support/builders.ts';

const at = (text: string): Date => text as unknown as Date;
const job = jobView({ podsExpected: 2 });

interface Given {
  uid?: string;
  owner?: string;
  node?: string;
  phase?: string;
  ready?: boolean;
  terminating?: boolean;
  unschedulable?: string;
  created?: string;
}
const pod = (
  name: string,
  {
    uid = `new-${name}`,
    owner = ref.uid,
    node = 'gpu-1',
    phase = 'Running',
    ready = true,
    terminating = false,
    unschedulable,
    created = '2026-11-21T07:10:00Z',
  }: Given = {},
): V1Pod => ({
  metadata: {
    name,
    uid,
    creationTimestamp: at(created),
    ...(terminating && { deletionTimestamp: at('2026-11-21T07:10:05Z') }),
    ownerReferences: [
      { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name: ref.name, uid: owner, controller: true },
    ],
  },
  spec: { containers: [], ...(unschedulable === undefined && { nodeName: node }) },
  status: {
    phase: unschedulable === undefined ? phase : 'Pending',
    conditions: [
      ...(unschedulable === undefined ? [] : [{ type: 'PodScheduled', status: 'False', message: unschedulable }]),
      { type: 'Ready', status: ready && unschedulable === undefined ? 'True' : 'False' },
    ],
  },
});
const look = (more: Partial<ObservedAttempt>) =>
  attemptProgress({ job, pods: [], old: new Set(['old-0']), quarantined: new Set(), ...more });

describe('a new attempt', () => {
  it('is ready when all pods are, and began with the first of them', () => {
    expect(look({ pods: [pod('w-1', { created: '2026-11-21T07:10:02Z' }), pod('w-0')] })).toEqual({
      kind: 'ready',
      pods: [
        { name: 'w-0', uid: 'new-w-0', node: 'gpu-1' },
        { name: 'w-1', uid: 'new-w-1', node: 'gpu-1' },
      ],
      startedAt: '2026-11-21T07:10:00Z',
      wholeSince: '2026-11-21T07:10:02Z',
    });
  });

  it('after a restart of one pod began with those that went on, and is whole since the new one', () => {
    const stayed = pod('w-0', { uid: 'stayed-0', created: '2026-11-21T06:00:00Z' });
    const broken = pod('w-1', { uid: 'old-0', created: '2026-11-21T06:00:00Z' });
    const remaining = new Set(['stayed-0']);
    expect(look({ pods: [stayed, broken], remaining }).kind).toBe('waiting');
    expect(look({ pods: [stayed, pod('w-1')], remaining })).toMatchObject({
      kind: 'ready',
      pods: [{ uid: 'stayed-0' }, { uid: 'new-w-1' }],
      startedAt: '2026-11-21T06:00:00Z',
      wholeSince: '2026-11-21T07:10:00Z',
    });
  });

  it('is not ready while a pod that went on is on a node that is quarantined since, which only a stop moves', () => {
    const pods = [pod('w-0', { uid: 'stayed-0', node: 'gpu-3' }), pod('w-1', { node: 'gpu-3' })];
    expect(look({ pods, remaining: new Set(['stayed-0']), quarantined: new Set(['gpu-3']) })).toMatchObject({
      because: 'w-0 is on quarantined node gpu-3',
      misplaced: [{ uid: 'new-w-1' }],
    });
  });

  it('counts a pod that already succeeded', () => {
    expect(look({ pods: [pod('w-0'), pod('w-1', { phase: 'Succeeded', ready: false })] }).kind).toBe('ready');
  });

  it.each<[string, V1Pod[], string]>([
    ['pods are missing', [pod('w-0')], '1 of 2 pods ready'],
    ['an old pod is still there', [pod('w-0', { uid: 'old-0' }), pod('w-1')], '1 of 2 pods ready'],
    ['a pod belongs to another job', [pod('w-0', { owner: 'other' }), pod('w-1')], '1 of 2 pods ready'],
    ['one is not ready', [pod('w-0', { ready: false }), pod('w-1')], 'w-0 not ready: running (1 of 2 pods ready)'],
    [
      'one is terminating',
      [pod('w-0', { terminating: true }), pod('w-1')],
      'w-0 is still terminating (1 of 2 pods ready)',
    ],
    [
      'one is terminating beside a full set',
      [pod('w-9', { terminating: true }), pod('w-0'), pod('w-1')],
      'w-9 is still terminating (2 of 2 pods ready)',
    ],
    [
      'the scheduler finds no capacity',
      [pod('w-0'), pod('w-1', { unschedulable: '0/8 nodes are available: 8 Insufficient nvidia.com/gpu.' })],
      'w-1 pending: 0/8 nodes are available: 8 Insufficient nvidia.com/gpu. (1 of 2 pods ready)',
    ],
  ])('is waited for while %s', (_, pods, because) => {
    expect(look({ pods })).toEqual({ kind: 'waiting', because, misplaced: [] });
  });

  it('is not ready while a pod is on a quarantined node, ready or not', () => {
    expect(look({ pods: [pod('w-0'), pod('w-1', { node: 'gpu-3' })], quarantined: new Set(['gpu-3']) })).toEqual({
      kind: 'waiting',
      because: 'w-1 is on quarantined node gpu-3',
      misplaced: [{ name: 'w-1', uid: 'new-w-1', node: 'gpu-3' }],
    });
  });

  it.each([
    ['the job is gone', undefined, 'cancelled'],
    [
      'its own controller failed it',
      jobView({ finished: { as: 'failed', because: 'BackoffLimitExceeded' } }),
      'failed',
    ],
    ['it succeeded', jobView({ finished: { as: 'succeeded', because: 'done' } }), 'restarted'],
    ['it was opted out', jobView({ optedIn: false }), 'cancelled'],
    ['its owner suspended it', jobView({ suspension: { by: 'owner' } }), 'cancelled'],
  ])('is given up when %s', (_, seen, outcome) => {
    expect(look({ job: seen })).toMatchObject({ kind: 'ended', outcome });
  });

  it.each([
    ['suspend', 'restarted'],
    ['delete-collection', 'escalated'],
    ['pods', 'escalated'],
  ] as const)('that succeeded before it was whole after a stop by %s is %s', (stoppedBy, outcome) => {
    expect(look({ job: jobView({ finished: { as: 'succeeded', because: 'done' } }), stoppedBy })).toMatchObject({
      kind: 'ended',
      outcome,
    });
  });

  it('is waited for while our own suspend stands', () => {
    expect(
      look({ job: jobView({ podsExpected: 2, suspension: { by: 'kcover', incident: 'i', attempt: 1 } }) }).kind,
    ).toBe('waiting');
  });

  it('leaves pods of a batch Job out that ended in an earlier attempt', () => {
    const batch = jobView({ ref: { ...ref, kind: 'Job' }, podsExpected: 1 });
    expect(look({ job: batch, pods: [pod('w-0', { phase: 'Failed', ready: false }), pod('w-1')] })).toMatchObject({
      kind: 'ready',
      pods: [{ name: 'w-1' }],
    });
  });
});

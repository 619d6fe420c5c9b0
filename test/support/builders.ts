/** Default facts for tests, with the fields that a test overrides. */

import type { ReserveLimit, StormRule } from '../../contract/cluster.ts';
import { type WorkerSettings, workerSettings } from '../../contract/settings/settings.schema.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import type { JobView } from '../../contract/job/jobs.ts';
import type { NodeView } from '../../contract/node/nodes.ts';

/** A limit for the workflow of a cluster. */
export const reserveLimit = (nodes: number, preflight: Partial<ReserveLimit['preflight']> = {}): ReserveLimit => ({
  nodes,
  because: 'the larger of 2 and 10 % of 8',
  preflight: { nodes, perNamespace: nodes, because: 'preflight.limit', ...preflight },
});

/** When nodes count as one incident. */
export const stormRule: StormRule = { nodes: 3, withinMs: 300_000, quietMs: 600_000 };

export const settings = (given: unknown = {}): WorkerSettings => workerSettings.parse(given);

export const job = { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job-uid' } as const;

export const kernelFault = (more: Partial<Fault> = {}): Fault => ({
  id: 'kernel/boot-1/100',
  source: 'kernel',
  code: 'xid/79',
  message: 'GPU has fallen off the bus',
  seenAt: '2026-11-21T07:09:03.117Z',
  node: 'gpu-3',
  device: '0000:5d:00',
  action: 'reboot',
  standing: 'current',
  kernel: { bootId: 'boot-1', sequence: 100 },
  ...more,
});

export const podFault = (more: Partial<Fault> = {}): Fault => ({
  id: 'pod/pod-3/containerd://a',
  source: 'pod',
  code: 'pod/exit',
  message: 'container pytorch of llm-worker-2 exited with 1 (Error)',
  seenAt: '2026-11-21T07:09:03Z',
  node: 'gpu-3',
  pod: { name: 'llm-worker-2', uid: 'pod-3', createdAt: '2026-11-21T06:00:00Z' },
  ...more,
});

/** For workflows, whose clock is real. */
export const podFaultNow = (more: Partial<Fault> = {}): Fault =>
  podFault({ seenAt: new Date().toISOString(), ...more });

export const jobView = (more: Partial<JobView> = {}): JobView => ({
  ref: job,
  optedIn: true,
  optedInAt: '2026-11-21T06:00:00Z',
  restartPolicy: 'OnFailure',
  podsExpected: 4,
  toleratesQuarantine: false,
  canStopBy: ['suspend', 'delete-collection'],
  resourceVersion: '100',
  ...more,
});

export const nodeView = (more: Partial<NodeView> = {}): NodeView => ({
  name: 'gpu-3',
  uid: 'node-3',
  systemUuid: 'machine-3',
  ready: true,
  cordoned: false,
  ...more,
});

export const tainted = (more: Partial<NodeView> = {}): NodeView =>
  nodeView({ taint: { value: 'xid-79', ours: true, incident: 'node/gpu-3/x' }, ...more });

export const pods = [
  { name: 'llm-master-0', uid: 'pod-0', node: 'gpu-0' },
  { name: 'llm-worker-0', uid: 'pod-1', node: 'gpu-1' },
  { name: 'llm-worker-1', uid: 'pod-2', node: 'gpu-2' },
  { name: 'llm-worker-2', uid: 'pod-3', node: 'gpu-3' },
] as const;

/** Jobs as Kueue writes them: it sets `suspend`, changes the pod templates of admitted jobs, and may set `suspend` again at any time. */

import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, V1PodTemplateSpec } from '@kubernetes/client-node';
import { type JobKind, jobKinds as kinds } from '../../contract/job/jobs.ts';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';
import { decideOptIn } from '../../policy/recovery/recoverable.ts';
import { manifestOf } from '../../testbed/set-manifests.ts';
import { settings } from '../support/builders.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const owned = {
  'kueue.x-k8s.io/queue-name': 'gpus',
  'kueue.x-k8s.io/priority-class': 'high',
  'kcover.io/cascading-recovery': 'true',
};
/** Kinds whose pods can be deleted, whatever a queue does with `suspend`. */
const deletable: readonly JobKind[] = ['PyTorchJob', 'PaddleJob', 'VolcanoJob'];

type QueueStage = 'queued' | 'admitted';

function written(kind: JobKind, stage: QueueStage): KubernetesObject {
  const object = manifestOf(kind, { name: 'llm', namespace: 'train', labels: owned, suspend: stage === 'queued' });
  const text = JSON.stringify({ ...object, metadata: { ...object.metadata, uid: 'job-uid', resourceVersion: '7' } });
  const { metadata, ...rest } = JSON.parse(text, (_, value: unknown) =>
    stage === 'admitted' && isTemplate(value) ? admitted(value) : value,
  ) as KubernetesObject;
  return { ...rest, ...(metadata && { metadata }) };
}

const isTemplate = (value: unknown): value is V1PodTemplateSpec =>
  typeof value === 'object' &&
  value !== null &&
  'spec' in value &&
  'metadata' in value &&
  JSON.stringify(value.spec).startsWith('{"serviceAccountName"');

/** What Kueue adds at admission: node selector and tolerations of the flavor, and scheduling gates until a topology is chosen. */
const admitted = ({ metadata, spec }: V1PodTemplateSpec): V1PodTemplateSpec => ({
  metadata: {
    ...metadata,
    labels: { ...metadata?.labels, 'kueue.x-k8s.io/podset': 'main' },
    annotations: { ...metadata?.annotations, 'kueue.x-k8s.io/workload': 'job-llm-1f2a3' },
  },
  spec: {
    containers: [],
    ...spec,
    nodeSelector: { 'cloud.example.com/flavor': 'h200' },
    tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' }],
    schedulingGates: [{ name: 'kueue.x-k8s.io/topology' }],
  },
});

describe.each(kinds)('a %s that Kueue owns', (kind) => {
  const view = (stage: QueueStage) => jobKinds[kind].view(written(kind, stage), taint);
  const [queued, running] = [view('queued'), view('admitted')];

  it('is suspended by its owner while it waits, where its kind can be: only Kueue resumes it', () => {
    expect(queued.suspension).toEqual(jobKinds[kind].suspend ? { by: 'owner' } : undefined);
    expect(queued.canStopBy).not.toContain('suspend');
  });

  it('is never suspended by kcover once it runs, and keeps its pods as they were admitted', () => {
    expect(running).toMatchObject({
      queue: 'gpus',
      canStopBy: deletable.includes(kind) ? ['delete-collection'] : [],
      podsExpected: 3,
      toleratesQuarantine: false,
    });
    expect(running.suspension).toBeUndefined();
  });

  it('is reported at opt-in as not recoverable, unless it survives a deletion of its pods', () => {
    const decision = decideOptIn(running, settings());
    if (deletable.includes(kind)) return expect(decision.kind).toBe('watch');
    expect(decision).toMatchObject({
      kind: 'warn',
      because: expect.stringContaining('queue gpus owns its suspend field'),
      remedy: 'take the job out of the queue',
    });
  });
});

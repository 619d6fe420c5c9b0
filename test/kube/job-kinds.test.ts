import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, V1ObjectMeta, V1Toleration } from '@kubernetes/client-node';
import { type JobKind, jobKinds as kinds, jobTitle, type JobView } from '../../contract/job/jobs.ts';
import { workerSettings } from '../../contract/settings/settings.schema.ts';
import { controllingJob, type JobKindEntry, jobKindOf, jobKinds, watchPath } from '../../kube/jobs/kinds/index.ts';
import { type Permission, permissions } from '../../kube/permissions.ts';
import { kubeflowJob, type KubeflowKindName } from '../../testbed/job-manifests.ts';
import { manifestOf } from '../../testbed/set-manifests.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const optIn = 'kcover.io/cascading-recovery';
const at = (text: string): Date => text as unknown as Date;
const created = '2026-11-21T06:00:00Z';

const metadata = (more: V1ObjectMeta = {}): V1ObjectMeta =>
  Object.assign(
    { name: 'llm', namespace: 'train', uid: 'job-uid', resourceVersion: '7', creationTimestamp: at(created) },
    more,
  );
const template = (
  more: { labels?: Record<string, string>; tolerations?: V1Toleration[]; restartPolicy?: string } = {},
) => ({
  metadata: { labels: more.labels ?? {} },
  spec: {
    containers: [],
    ...(more.tolerations && { tolerations: more.tolerations }),
    ...(more.restartPolicy && { restartPolicy: more.restartPolicy }),
  },
});

interface Given {
  metadata?: V1ObjectMeta;
  roles?: Record<string, object>;
  suspend?: boolean;
  conditions?: object[];
}
const pytorch = ({
  metadata: own,
  roles = { Master: { template: template() }, Worker: { replicas: 3, template: template() } },
  suspend,
  conditions,
}: Given = {}): KubernetesObject =>
  ({
    apiVersion: 'kubeflow.org/v1',
    kind: 'PyTorchJob',
    metadata: metadata(own),
    spec: { pytorchReplicaSpecs: roles, runPolicy: suspend === undefined ? {} : { suspend } },
    status: { conditions: conditions ?? [] },
  }) as KubernetesObject;
const batch = (spec: object = {}, status: object = {}, own: V1ObjectMeta = {}): KubernetesObject =>
  ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: metadata(own),
    spec: { template: template({ restartPolicy: 'Never' }), ...spec },
    status,
  }) as KubernetesObject;

const view = (object: KubernetesObject): JobView =>
  jobKinds[object.kind === 'Job' ? 'Job' : 'PyTorchJob'].view(object, taint);

describe('a PyTorchJob', () => {
  it('is seen whole', () => {
    expect(view(pytorch({ metadata: { labels: { [optIn]: 'true' } } }))).toEqual({
      ref: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job-uid' },
      optedIn: true,
      optedInAt: created,
      restartPolicy: 'OnFailure',
      podsExpected: 4,
      toleratesQuarantine: false,
      canStopBy: ['suspend', 'delete-collection'],
      succeedsWith: { role: 'master' },
      resourceVersion: '7',
    });
  });

  it.each<[sentence: string, annotations: Record<string, string>, expected: JobView['progress']]>([
    [
      'tells how far it is',
      {
        'kcover.io/step': '1200',
        'kcover.io/checkpoint-step': '1100',
        'kcover.io/progress-at': '2026-11-21T07:00:00.250Z',
      },
      { step: 1200, checkpointStep: 1100, at: '2026-11-21T07:00:00.250Z' },
    ],
    [
      'tells nothing of a step that is no integer',
      { 'kcover.io/step': '12.5', 'kcover.io/progress-at': '2026-11-21T07:00:00Z' },
      undefined,
    ],
    ['tells nothing of a step without its time', { 'kcover.io/step': '12' }, undefined],
  ])('%s', (_sentence, annotations, expected) => {
    expect(view(pytorch({ metadata: { annotations } })).progress).toEqual(expected);
  });

  it.each([
    [
      'one role with Never is not stopped by deleting',
      { Master: { restartPolicy: 'Never' }, Worker: { restartPolicy: 'OnFailure' } },
      'Never',
      ['suspend'],
    ],
    ['ExitCode is not stopped by deleting', { Master: { restartPolicy: 'ExitCode' } }, 'ExitCode', ['suspend']],
    ['Always may be', { Master: { restartPolicy: 'Always' } }, 'Always', ['suspend', 'delete-collection']],
    ['no restart policy is OnFailure', { Master: {} }, 'OnFailure', ['suspend', 'delete-collection']],
  ])('%s', (_, roles, restartPolicy, canStopBy) => {
    expect(view(pytorch({ roles }))).toMatchObject({ restartPolicy, canStopBy });
  });

  it('leaves suspend to the queue that owns it', () => {
    expect(view(pytorch({ metadata: { labels: { 'kueue.x-k8s.io/queue-name': 'gpus' } } }))).toMatchObject({
      queue: 'gpus',
      canStopBy: ['delete-collection'],
    });
  });

  it.each([
    ['by its owner', {}, { by: 'owner' }],
    [
      'by kcover',
      { 'kcover.io/suspended-by': 'recovery/train/llm/job-uid/2026-11-21T07:09:03.117Z#2' },
      { by: 'kcover', incident: 'recovery/train/llm/job-uid/2026-11-21T07:09:03.117Z', attempt: 2 },
    ],
    ['by its owner when the mark makes no sense', { 'kcover.io/suspended-by': 'me' }, { by: 'owner' }],
  ])('knows that it was suspended %s', (_, annotations, suspension) => {
    expect(view(pytorch({ metadata: { annotations }, suspend: true })).suspension).toEqual(suspension);
  });

  it('is not suspended because a mark was left behind', () => {
    expect(
      view(pytorch({ metadata: { annotations: { 'kcover.io/suspended-by': 'x#1' } }, suspend: false })).suspension,
    ).toBeUndefined();
  });

  it.each([
    ['Succeeded', 'True', { as: 'succeeded', because: 'PyTorchJobSucceeded: done' }],
    ['Failed', 'True', { as: 'failed', because: 'PyTorchJobSucceeded: done' }],
    ['Failed', 'False', undefined],
    ['Running', 'True', undefined],
  ])('with condition %s %s is finished accordingly', (type, status, finished) => {
    expect(
      view(pytorch({ conditions: [{ type, status, reason: 'PyTorchJobSucceeded', message: 'done' }] })).finished,
    ).toEqual(finished);
  });

  it('is not stopped by deleting when its backoffLimit is 0', () => {
    const { canStopBy, failsWhenDeleted } = view({
      ...pytorch(),
      spec: { pytorchReplicaSpecs: { Master: {} }, runPolicy: { backoffLimit: 0 } },
    } as KubernetesObject);
    expect(canStopBy).toEqual(['suspend']);
    expect(failsWhenDeleted?.because).toContain('backoffLimit 0');
  });
});

describe('opting in', () => {
  const inTemplate = { Worker: { template: template({ labels: { [optIn]: 'true' } }) } };
  it.each([
    ['counts on the job', { metadata: { labels: { [optIn]: 'true' } } }, true],
    ['counts on the template of any role', { roles: { Master: { template: template() }, ...inTemplate } }, true],
    [
      'is decided by the job where both speak',
      { metadata: { labels: { [optIn]: 'false' } }, roles: inTemplate },
      false,
    ],
    ['is strictly true', { metadata: { labels: { [optIn]: 'True' } } }, false],
    ['does not happen by itself', {}, false],
  ])('%s', (_, given: Given, optedIn) => {
    expect(view(pytorch(given)).optedIn).toBe(optedIn);
  });

  const owner = (manager: string, time: string, label: boolean) => ({
    manager,
    time: at(time),
    fieldsV1: { 'f:metadata': { 'f:labels': label ? { [`f:${optIn}`]: {} } : {} } },
  });
  it('dates from the earliest write of an owner of the label', () => {
    const managedFields = [
      owner('operator', '2026-11-21T06:30:00Z', false),
      owner('kubectl', '2026-11-21T06:50:00Z', true),
      owner('cd', '2026-11-21T06:55:00Z', true),
    ];
    expect(view(pytorch({ metadata: { labels: { [optIn]: 'true' }, managedFields } })).optedInAt).toBe(
      '2026-11-21T06:50:00Z',
    );
  });
  it('by template dates from the creation', () => {
    expect(
      view(
        pytorch({ metadata: { managedFields: [owner('kubectl', '2026-11-21T06:50:00Z', true)] }, roles: inTemplate }),
      ).optedInAt,
    ).toBe(created);
  });
});

describe('tolerating the quarantine', () => {
  it.each<[string, V1Toleration, boolean]>([
    ['everything', { operator: 'Exists' }, true],
    ['our key', { key: 'kcover.io/quarantine', operator: 'Exists' }, true],
    ['our key with our effect', { key: 'kcover.io/quarantine', operator: 'Exists', effect: 'NoSchedule' }, true],
    ['our key with another effect', { key: 'kcover.io/quarantine', operator: 'Exists', effect: 'NoExecute' }, false],
    ['another key', { key: 'nvidia.com/gpu', operator: 'Exists' }, false],
    ['our key with a value that the reason will not have', { key: 'kcover.io/quarantine', value: 'true' }, false],
  ])('a pod that tolerates %s', (_, toleration, tolerates) => {
    expect(
      view(pytorch({ roles: { Master: { template: template({ tolerations: [toleration] }) } } })).toleratesQuarantine,
    ).toBe(tolerates);
  });

  it('counts a value that settings give to the taint', () => {
    const job = pytorch({
      roles: { Master: { template: template({ tolerations: [{ key: 'faulty', operator: 'Equal', value: 'true' }] }) } },
    });
    expect(
      jobKinds.PyTorchJob.view(job, { key: 'faulty', value: 'true', effect: 'NoSchedule' }).toleratesQuarantine,
    ).toBe(true);
  });
});

describe('a batch Job', () => {
  it('is stopped by suspending only', () => {
    expect(view(batch({ parallelism: 4, completions: 4 }))).toMatchObject({
      podsExpected: 4,
      restartPolicy: 'Never',
      canStopBy: ['suspend'],
    });
  });
  it('cannot be stopped where a queue owns suspend', () => {
    expect(view(batch({}, {}, { labels: { 'kueue.x-k8s.io/queue-name': 'gpus' } })).canStopBy).toEqual([]);
  });
  it.each([
    ['what succeeded is not run again', { parallelism: 4, completions: 4 }, { succeeded: 3 }, 1],
    ['without completions it has its parallelism', { parallelism: 3 }, {}, 3],
    ['by default it has one pod', {}, {}, 1],
  ])('%s', (_, spec, status, pods) => {
    expect(view(batch(spec, status)).podsExpected).toBe(pods);
  });
  it('finishes with Complete and Failed', () => {
    expect(view(batch({}, { conditions: [{ type: 'Complete', status: 'True' }] })).finished).toEqual({
      as: 'succeeded',
      because: 'Complete',
    });
    expect(
      view(batch({}, { conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' }] })).finished,
    ).toEqual({
      as: 'failed',
      because: 'BackoffLimitExceeded',
    });
  });
});

describe('the pod whose success is the success of the job', () => {
  it.each<[KubeflowKindName | 'Job', string, readonly string[], object, object | undefined]>([
    ['PyTorchJob', 'is the master', ['Master', 'Worker'], {}, { role: 'master' }],
    ['PyTorchJob', 'is every worker where there is no master', ['Worker'], {}, undefined],
    [
      'PyTorchJob',
      'is any worker of an elastic job',
      ['Worker'],
      { elasticPolicy: { minReplicas: 1 } },
      { role: 'worker' },
    ],
    ['PyTorchJob', 'is the master, however its name is written', ['MASTER'], {}, { role: 'master' }],
    ['TFJob', 'is the chief', ['Worker', 'Chief'], {}, { role: 'chief' }],
    ['TFJob', 'is the master', ['Master', 'PS'], {}, { role: 'master' }],
    [
      'TFJob',
      'is the first worker where there is no chief',
      ['Worker', 'PS'],
      { successPolicy: '' },
      { role: 'worker', index: 0 },
    ],
    ['TFJob', 'is every worker where its owner says so', ['Worker'], { successPolicy: 'AllWorkers' }, undefined],
    ['MPIJob', 'is the launcher', ['Launcher', 'Worker'], {}, { role: 'launcher' }],
    ['XGBoostJob', 'is the master', ['Master', 'Worker'], {}, { role: 'master' }],
    ['PaddleJob', 'is the master', ['Master', 'Worker'], {}, { role: 'master' }],
    ['PaddleJob', 'is every worker where there is no master', ['Worker'], {}, undefined],
    ['Job', 'is every pod', [], {}, undefined],
  ])('of a %s %s', (kind, _sentence, roles, spec, expected) => {
    const given =
      kind === 'Job'
        ? { spec }
        : kubeflowJob(kind, {
            name: 'llm',
            roles: Object.fromEntries(roles.map((role) => [role, 1])),
            spec: { ...spec },
          });
    expect(jobKinds[kind].succeedsWith(given as KubernetesObject)).toEqual(expected);
  });
});

describe('a job that says nothing', () => {
  it.each<[JobKind, object, string, number]>([
    ['TFJob', { tfReplicaSpecs: { Chief: {}, Worker: {} } }, 'Never', 2],
    ['MPIJob', { mpiReplicaSpecs: { Launcher: {}, Worker: {} } }, 'Never', 1],
    ['XGBoostJob', { xgbReplicaSpecs: { Master: {} } }, 'Never', 1],
    ['PaddleJob', { paddleReplicaSpecs: { Worker: {} } }, 'OnFailure', 1],
    ['Job', { template: template() }, 'Never', 1],
  ])('is a %s with what its controller fills in', (kind, spec, restartPolicy, podsExpected) => {
    expect(jobKinds[kind].view({ metadata: metadata(), spec } as KubernetesObject, taint)).toMatchObject({
      restartPolicy,
      podsExpected,
    });
  });
});

describe.each(kinds)('the entry of %s', (kind) => {
  const entry: JobKindEntry = jobKinds[kind];
  // The pods of a job with a child job belong to the child.
  const others = kinds
    .map((each): JobKindEntry => jobKinds[each])
    .filter((each) => each !== entry && each.childKind !== kind && entry.childKind !== each.kind);
  const manifest = (given: Record<string, string> = {}) => {
    const common = { name: 'llm', namespace: 'train', labels: { [optIn]: 'true', ...given } };
    const { metadata: own, ...rest } = manifestOf(kind, common);
    return { ...rest, metadata: metadata(own as V1ObjectMeta) } as KubernetesObject;
  };
  const ref = { kind, namespace: 'train', name: 'llm', uid: 'job-uid' };

  it('knows where to watch it, and is the only one of its name there', () => {
    expect(entry.kind).toBe(kind);
    expect(watchPath(entry)).toBe(`/apis/${entry.apiVersion}/${entry.plural}`);
    expect(jobKindOf(manifest())).toBe(kind);
  });

  it('knows how to suspend it, or says that nothing in its spec does', () => {
    const { suspend } = entry;
    if (!suspend) return expect(entry.view(manifest(), taint).canStopBy).toEqual(['delete-collection']);
    const suspended = (is: boolean) => ({ spec: suspend(is) }) as KubernetesObject;
    expect(entry.isSuspended(suspended(true))).toBe(true);
    expect(entry.isSuspended(suspended(false))).toBe(false);
    expect(entry.view({ ...manifest(), ...suspended(true) }, taint).suspension).toEqual({ by: 'owner' });
  });

  it('sees a whole job, which can be suspended unless a queue owns that', () => {
    const queued = manifest({ 'kueue.x-k8s.io/queue-name': 'gpus' });
    expect(entry.view(manifest(), taint)).toMatchObject({
      ref,
      optedIn: true,
      podsExpected: 3,
      canStopBy: expect.arrayContaining([entry.suspend ? 'suspend' : 'delete-collection']),
    });
    expect(entry.view(queued, taint)).toMatchObject({
      queue: 'gpus',
      canStopBy: expect.not.arrayContaining(['suspend']),
    });
    const { canStopBy, failsWhenDeleted } = entry.view(queued, taint);
    expect(failsWhenDeleted === undefined).toBe(canStopBy.includes('delete-collection'));
  });

  it('selects pods by labels that no other kind and no other job has', () => {
    expect(others.map(({ podsOfKind }) => podsOfKind)).not.toContain(entry.podsOfKind);
    const selectors = [ref, { ...ref, name: 'twin', uid: 'twin-uid' }].map(entry.podSelector);
    // Pods of a RayJob have only the label of their Ray cluster: the owner reference gives the job.
    expect(new Set(selectors).size).toBe(kind === 'RayJob' ? 1 : 2);
    expect(others.map(({ podSelector }) => podSelector({ ...ref, uid: 'other-uid' }))).not.toContain(selectors[0]);
  });

  it('says in one sentence what is protected and what is not, which the docs say too', () => {
    expect(entry.protection).toMatch(/^bad nodes and dying ranks .+; not protected: .+$/);
    expect(readFileSync(new URL('../../docs/job-kinds.md', import.meta.url), 'utf8')).toContain(
      `| ${kind} | ${entry.protection} |`,
    );
  });

  it('is what people type, what settings name and what the roles may touch', () => {
    expect(jobTitle(ref)).toBe(`${kind.toLowerCase()}/llm`);
    expect(workerSettings.parse({}).recovery.stop[kind]).toBe('suspend');
    for (const role of [permissions.controller, permissions.worker] satisfies (readonly Permission[])[]) {
      // Jobs of hooks are made in a namespace of their own.
      const rights = role.filter(
        (each: Permission) => !each.repair && each.apiGroup === entry.group && each.resource === entry.plural,
      );
      expect(rights.flatMap(({ verbs }) => verbs)).toEqual(['get', 'list', 'watch', 'patch']);
    }
  });
});

describe('the registry', () => {
  it('finds the job that controls a pod, and no other owner', () => {
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'llm', uid: 'u', controller: true };
    expect(controllingJob('train', [owner])).toEqual({ kind: 'Job', namespace: 'train', name: 'llm', uid: 'u' });
    expect(controllingJob('train', [{ ...owner, controller: false }])).toBeUndefined();
    expect(controllingJob('train', [{ ...owner, apiVersion: 'batch.volcano.sh/v1alpha1' }])?.kind).toBe('VolcanoJob');
    expect(controllingJob('train', [{ ...owner, apiVersion: 'example.com/v1' }])).toBeUndefined();
    expect(controllingJob('train', undefined)).toBeUndefined();
  });
});

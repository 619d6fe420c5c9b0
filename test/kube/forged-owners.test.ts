import { describe, expect, it } from '@jest/globals';
import type { V1OwnerReference, V1Pod } from '@kubernetes/client-node';
import { jobKinds as kinds } from '../../contract/job/jobs.ts';
import { controllingJob, jobKinds, jobPath, jobsOfPods, ownerJobOf } from '../../kube/jobs/kinds/index.ts';
import { memberOf } from '../../kube/pods/ranks.ts';
import { trainingPodOf } from '../../kube/pods/training-pods.ts';
import { forgedNames, forgedUids } from '../support/forged-names.ts';

const owner = (apiVersion: string, kind: string, more: Partial<V1OwnerReference> = {}): V1OwnerReference => ({
  apiVersion,
  kind,
  name: 'llm',
  uid: '0b1c',
  controller: true,
  ...more,
});

describe.each(kinds)('a pod that says that a %s controls it', (kind) => {
  const { apiVersion, objectKind } = jobKinds[kind];
  const controlled = (more: Partial<V1OwnerReference>) =>
    controllingJob('tenant', [owner(apiVersion, objectKind, more)]);

  it('belongs to that job of its own namespace', () => {
    expect(controlled({})).toEqual({ kind, namespace: 'tenant', name: 'llm', uid: '0b1c' });
    expect(jobPath({ kind, namespace: 'tenant', name: 'llm', uid: '0b1c' })).toContain('/namespaces/tenant/');
  });

  it.each(forgedNames)('belongs to no job where the name is %s', (_, name) => {
    expect(controlled({ name })).toBeUndefined();
  });

  it.each(forgedUids)('belongs to no job where the UID is %s', (_, uid) => {
    expect(controlled({ uid })).toBeUndefined();
  });
});

describe.each([
  ['Job', 'JobSet', 'jobset.x-k8s.io/v1alpha2'],
  ['JobSet', 'TrainJob', 'trainer.kubeflow.org/v1alpha1'],
] as const)('a %s that names a %s as its owner', (child, kind, apiVersion) => {
  const ownerJob = (more: Partial<V1OwnerReference>) =>
    ownerJobOf(child, { namespace: 'tenant', ownerReferences: [owner(apiVersion, kind, more)] });

  it('was made by that one', () => {
    expect(ownerJob({})).toEqual({ kind, namespace: 'tenant', name: 'llm', uid: '0b1c' });
  });

  it.each(forgedNames)('was made by none where the name is %s', (_, name) => {
    expect(ownerJob({ name })).toBeUndefined();
  });

  it.each(forgedUids)('was made by none where the UID is %s', (_, uid) => {
    expect(ownerJob({ uid })).toBeUndefined();
  });
});

it('a pod that claims the UID of a job of another namespace takes no place of it, whichever comes first', () => {
  const pod = (namespace: string): V1Pod => ({ metadata: { namespace, ownerReferences: [owner('batch/v1', 'Job')] } });
  for (const order of [
    ['train', 'tenant', 'train'],
    ['tenant', 'train'],
  ])
    expect(jobsOfPods(order.map(pod)).map(({ namespace }) => namespace)).toEqual([...new Set(order)]);
});

describe('a pod with ranks', () => {
  const labels = {
    batch: { 'batch.kubernetes.io/job-name': 'llm', 'batch.kubernetes.io/job-completion-index': '0' },
    kubeflow: {
      'training.kubeflow.org/job-name': 'llm',
      'training.kubeflow.org/replica-type': 'worker',
      'training.kubeflow.org/replica-index': '0',
    },
    set: {
      'leaderworkerset.sigs.k8s.io/name': 'llm',
      'leaderworkerset.sigs.k8s.io/group-index': '0',
      'leaderworkerset.sigs.k8s.io/worker-index': '0',
    },
  };
  const pod = (worn: Readonly<Record<string, string>>, more: Partial<V1OwnerReference> = {}): V1Pod => ({
    metadata: {
      namespace: 'tenant',
      name: 'p',
      uid: 'p',
      labels: { ...worn },
      ownerReferences: [owner('example.com/v1', 'Foo', more)],
    },
    spec: { nodeName: 'gpu-1', containers: [] },
  });

  describe.each(Object.entries(labels))('of the labels of %s', (kind, worn) => {
    const [first = ''] = Object.keys(worn);

    it('belongs to the workload that they name', () => {
      expect(memberOf(pod(worn))?.workload).toEqual({
        namespace: 'tenant',
        name: kind === 'set' ? 'llm-0' : 'llm',
        uid: '0b1c',
      });
    });

    it.each(forgedNames.filter(([, text]) => text !== '' && text !== 'a-'))(
      'belongs to none where the name is %s',
      (_, name) => {
        expect(memberOf(pod({ ...worn, [first]: name }))).toBeUndefined();
      },
    );

    it.each(forgedNames)('belongs to none where the name of its owner is %s, whatever kind that is', (_, name) => {
      expect(memberOf(pod(worn, { name }))).toBeUndefined();
      expect(memberOf(pod(worn, { apiVersion: 'batch/v1', kind: 'Job', name }))).toBeUndefined();
    });

    it.each(forgedUids)('belongs to none where the UID of its owner is %s', (_, uid) => {
      expect(memberOf(pod(worn, { uid }))).toBeUndefined();
    });
  });

  it.each(forgedNames)('has no job that its trainer could report for where the name of the owner is %s', (_, name) => {
    const { metadata, spec } = pod(labels.batch);
    expect(
      trainingPodOf({ metadata: { ...metadata, ownerReferences: [owner('batch/v1', 'Job')] }, ...(spec && { spec }) }),
    ).toBeDefined();
    expect(
      trainingPodOf({
        metadata: { ...metadata, ownerReferences: [owner('batch/v1', 'Job', { name })] },
        ...(spec && { spec }),
      }),
    ).toBeUndefined();
  });
});

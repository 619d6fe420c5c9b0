import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, V1Container, V1Node, V1PodSpec } from '@kubernetes/client-node';
import type { JobRef } from '../../contract/job/jobs.ts';
import { nodeCapacity, shapesOf, shapesOfPods, replacedPods } from '../../kube/capacity.ts';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';
import { placePods } from '../../policy/capacity/placement.ts';
import { requestsOf } from '../../kube/pods/requests.ts';
import { standbyEdit } from '../../kube/nodes/standby.ts';
import { kubeflowJob } from '../../testbed/job-manifests.ts';

const container = (requests: Record<string, string>, more: Partial<V1Container> = {}): V1Container => ({
  name: 'c',
  resources: { requests },
  ...more,
});
const spec = (more: Partial<V1PodSpec>): V1PodSpec => ({ containers: [], ...more });

describe('what a pod asks for', () => {
  it.each<[sentence: string, given: V1PodSpec, expected: Record<string, number>]>([
    [
      'is what its containers ask for together',
      spec({ containers: [container({ cpu: '500m' }), container({ cpu: '1.5', memory: '1Gi' })] }),
      { cpu: 2000, memory: 2 ** 30 },
    ],
    [
      'is its limit where it names no request',
      spec({ containers: [{ name: 'c', resources: { limits: { 'nvidia.com/gpu': '8' } } }] }),
      { 'nvidia.com/gpu': 8 },
    ],
    [
      'is more where an init container asks for more',
      spec({ containers: [container({ cpu: '1' })], initContainers: [container({ cpu: '4' })] }),
      { cpu: 4000 },
    ],
    [
      'is that of sidecars too',
      spec({
        containers: [container({ cpu: '1' })],
        initContainers: [container({ cpu: '2' }, { restartPolicy: 'Always' }), container({ cpu: '2' })],
      }),
      { cpu: 4000 },
    ],
    [
      'is what is said for the whole pod',
      spec({ containers: [container({ cpu: '1' })], resources: { requests: { cpu: '3' } } }),
      { cpu: 3000 },
    ],
    [
      'is what its runtime needs beside',
      spec({ containers: [container({ memory: '1Mi' })], overhead: { memory: '1k' } }),
      { memory: 2 ** 20 + 1000 },
    ],
    ['is rounded up to thousandths of a core', spec({ containers: [container({ cpu: '100u' })] }), { cpu: 1 }],
    [
      'may be written with an exponent',
      spec({ containers: [container({ memory: '1e3', cpu: '1E2' })] }),
      { memory: 1000, cpu: 100_000 },
    ],
    ['is nothing where it is no quantity', spec({ containers: [container({ cpu: 'much' })] }), { cpu: 0 }],
    ['is a place among the pods', spec({}), {}],
  ])('%s', (_, given, expected) => {
    expect(requestsOf(given)).toEqual({ ...expected, pods: 1 });
  });
});

describe('what the next attempt needs', () => {
  const job: JobRef = { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'u' };
  const shapes = (more: Partial<V1PodSpec> = {}) => {
    const object = kubeflowJob('PyTorchJob', {
      name: 'llm',
      roles: { Master: 1, Worker: 3 },
      podLabels: { team: 'a' },
    });
    const { pytorchReplicaSpecs } = object.spec as {
      pytorchReplicaSpecs: Record<string, { template: { spec: V1PodSpec } }>;
    };
    for (const { template } of Object.values(pytorchReplicaSpecs)) Object.assign(template.spec, more);
    return shapesOf(job, object as unknown as KubernetesObject);
  };

  it('is a shape for each role, and workers are what another size has fewer of', () => {
    expect(shapes()).toMatchObject([
      { count: 1, fixed: true, requests: { 'nvidia.com/gpu': 8, pods: 1 } },
      { count: 3, fixed: false, requests: { 'nvidia.com/gpu': 8, pods: 1 } },
    ]);
  });

  it('goes where selector and affinity both say', () => {
    const [master] = shapes({
      nodeSelector: { pool: 'a' },
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'zone', operator: 'In', values: ['x'] }] },
              { matchExpressions: [{ key: 'big', operator: 'Exists' }] },
            ],
          },
        },
      },
    });
    const pool = { key: 'pool', operator: 'In', values: ['a'] };
    expect(master?.nodes).toEqual([
      [pool, { key: 'zone', operator: 'In', values: ['x'] }],
      [pool, { key: 'big', operator: 'Exists' }],
    ]);
  });

  it('goes to the node that affinity names', () => {
    const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['gpu-0'] }];
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } },
    };
    const [master, worker] = shapes({ affinity });
    expect(master?.nodes).toEqual([matchFields]);
    const given = ['gpu-0', 'gpu-1'].map((name) =>
      nodeCapacity({ metadata: { name }, status: { allocatable: { 'nvidia.com/gpu': '32', pods: '9' } } }),
    );
    const ready = given.map((one) => ({ ...one, ready: true }));
    expect(placePods(ready, worker ? [{ ...worker, count: 5 }] : [], 'standby')).toMatchObject({
      fit: 4,
      because: '1 node: labels do not match',
    });
  });

  it.each<[JobRef['kind'], object, readonly object[]]>([
    [
      'PyTorchJob',
      { pytorchReplicaSpecs: { Master: { template: {} }, Worker: { template: {} } } },
      [
        {
          'training.kubeflow.org/job-name': 'llm',
          'training.kubeflow.org/replica-type': 'master',
          'training.kubeflow.org/job-role': 'master',
        },
        { 'training.kubeflow.org/job-name': 'llm', 'training.kubeflow.org/replica-type': 'worker' },
      ],
    ],
    [
      'Job',
      { template: {} },
      [
        {
          'job-name': 'llm',
          'batch.kubernetes.io/job-name': 'llm',
          'controller-uid': 'u',
          'batch.kubernetes.io/controller-uid': 'u',
        },
      ],
    ],
    [
      'JobSet',
      { replicatedJobs: [{ name: 'node', template: {} }] },
      [{ 'jobset.sigs.k8s.io/jobset-name': 'llm', 'jobset.sigs.k8s.io/replicatedjob-name': 'node' }],
    ],
    ['TrainJob', {}, [{ 'jobset.sigs.k8s.io/jobset-name': 'llm', 'jobset.sigs.k8s.io/replicatedjob-name': 'node' }]],
  ])('has the labels that the controller of a %s adds', (kind, given, expected) => {
    const object = { metadata: { name: 'llm', namespace: 'train', uid: 'u' }, spec: given };
    expect(shapesOf({ ...job, kind }, object).map(({ labels }) => labels)).toEqual(
      expected.map((labels) => expect.objectContaining(labels)),
    );
  });

  it('keeps apart by the labels that the operator adds, on single nodes only', () => {
    const labelSelector = { matchLabels: { 'training.kubeflow.org/job-name': 'llm' } };
    const terms = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
      topologyKey,
      labelSelector,
    }));
    const [master] = shapes({
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
    });
    expect(master?.labels).toMatchObject({ team: 'a', 'training.kubeflow.org/job-name': 'llm' });
    expect(master?.apart).toEqual([[{ key: 'training.kubeflow.org/job-name', operator: 'In', values: ['llm'] }]]);
  });

  it('is what single pods had, counted together where they are alike', () => {
    const pod = (uid: string, more: Partial<V1PodSpec> = {}) => ({
      metadata: { uid, labels: { index: uid } },
      spec: spec({ containers: [container({ cpu: '1' })], ...more }),
    });
    const pods = [pod('a'), pod('b'), pod('c', { nodeSelector: { pool: 'x' } }), pod('d')];
    const found = shapesOfPods(job, pods, new Set(['a', 'b', 'c']));
    expect(found.map(({ count, nodes }) => [count, nodes.length])).toEqual([
      [2, 0],
      [1, 1],
    ]);
  });

  it('is given in accelerators too', () => {
    const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
    const gpus = (each: number) =>
      jobKinds.MPIJob.view(
        kubeflowJob('MPIJob', {
          name: 'llm',
          gpus: each,
          roles: { Launcher: 1, Worker: 3 },
        }) as unknown as KubernetesObject,
        taint,
      ).gpus;
    expect([gpus(8), gpus(0)]).toEqual([24, undefined]);
  });
});

describe('a node', () => {
  const node = (more: Partial<V1Node> = {}): V1Node => ({
    metadata: { name: 'gpu-0', uid: 'n' },
    spec: {
      taints: [
        { key: 'kcover.io/spare', effect: 'NoSchedule' },
        { key: 'pool', value: 'a', effect: 'NoSchedule' },
      ],
    },
    status: { allocatable: { cpu: '191500m', 'nvidia.com/gpu': '8' }, conditions: [{ type: 'Ready', status: 'True' }] },
    ...more,
  });
  const request = {
    incident: 'recovery/train/llm/job-uid/2026-11-21T07:09:03.117Z',
    standbyTaint: 'kcover.io/spare',
    quarantine: { key: 'kcover.io/quarantine', effect: 'NoSchedule' },
  } as const;

  it('has what its kubelet can give', () => {
    expect(nodeCapacity(node())).toMatchObject({
      name: 'gpu-0',
      ready: true,
      unschedulable: false,
      allocatable: { cpu: 191_500, 'nvidia.com/gpu': 8 },
    });
  });

  it('on standby loses that taint, and no other, and its annotation names the recovery without the UID of the job', () => {
    expect(standbyEdit(node(), request)).toEqual({
      taken: true,
      change: {
        taints: [{ key: 'pool', value: 'a', effect: 'NoSchedule' }],
        annotations: { 'kcover.io/spare-taken': 'train/llm/2026-11-21T07:09:03.117Z' },
      },
    });
  });

  const taken = { name: 'gpu-0', annotations: { 'kcover.io/spare-taken': 'train/llm/2026-11-21T07:09:03.117Z' } };
  it.each<[sentence: string, more: Partial<V1Node>, taken: boolean]>([
    ['that was taken before is found so', { metadata: taken, spec: {} }, true],
    ['that somebody has put back stays there', { metadata: taken }, false],
    ['that stands by no longer is not taken', { spec: {} }, false],
    ['that is cordoned is not taken', { spec: { ...node().spec, unschedulable: true } }, false],
    ['that is not ready is not taken', { status: {} }, false],
    [
      'that is quarantined is not taken',
      { spec: { taints: [...(node().spec?.taints ?? []), { key: 'kcover.io/quarantine', effect: 'NoSchedule' }] } },
      false,
    ],
  ])('%s', (_, more, expected) => {
    expect(standbyEdit(node(more), request)).toEqual({ taken: expected });
  });
});

describe('pods that free capacity', () => {
  const job: JobRef = { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job' };
  const pod = (namespace: string, uid = 'pod') => ({
    metadata: {
      namespace,
      uid,
      ownerReferences: [
        { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name: 'llm', uid: 'job', controller: true },
      ],
    },
  });

  it.each([
    ['all of the job', undefined],
    ['one of its pods', ['pod']],
  ])('are not in another namespace, whatever owner they name, when %s is to be restarted', (_, uids) => {
    expect(replacedPods(job, uids)(pod('train'))).toBe(true);
    expect(replacedPods(job, uids)(pod('other'))).toBe(false);
    expect(replacedPods(job, ['another'])(pod('train'))).toBe(false);
  });
});

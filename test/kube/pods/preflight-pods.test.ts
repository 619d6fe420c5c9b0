import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, V1ContainerState, V1OwnerReference, V1Pod } from '@kubernetes/client-node';
import { isMaster } from '../../../kube/pods/ranks.ts';
import { isPreflightPod, preflightPodOf, workloadOf } from '../../../kube/pods/preflight-pods.ts';
import { jobKinds } from '../../../kube/jobs/kinds/index.ts';
import { kubeflowJob, type KubeflowKindName } from '../../../testbed/job-manifests.ts';

/** A time as the API server sends it, as text. */
const at = (text: string): Date => text as unknown as Date;

const owner = (apiVersion: string, kind: string, name: string): V1OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid: `uid-${name}`,
  controller: true,
});
const byJob = owner('batch/v1', 'Job', 'bench');
const byPytorch = owner('kubeflow.org/v1', 'PyTorchJob', 'llm');

interface Given {
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly by?: V1OwnerReference;
  readonly init?: string;
  readonly state?: V1ContainerState;
  readonly lastState?: V1ContainerState;
}
const pod = ({ labels = {}, annotations = {}, by, init = 'preflight', state, lastState }: Given): V1Pod => ({
  metadata: {
    name: 'pod-1',
    namespace: 'train',
    uid: 'u1',
    creationTimestamp: at('2026-11-21T06:59:50Z'),
    labels: { 'kcover.io/preflight': 'true', ...labels },
    annotations,
    ...(by && { ownerReferences: [by] }),
  },
  spec: { nodeName: 'gpu-1', containers: [], initContainers: [{ name: init }] },
  status: {
    initContainerStatuses: [
      {
        name: init,
        image: 'i',
        imageID: 'i',
        ready: false,
        restartCount: 0,
        ...(state && { state }),
        ...(lastState && { lastState }),
      },
    ],
  },
});

const manifest = (kind: KubeflowKindName, roles: Record<string, number>): KubernetesObject =>
  ({ ...kubeflowJob(kind, { name: 'llm', roles }) }) as KubernetesObject;

const batch = 'batch.kubernetes.io';
const kubeflow = (role: string, index: string) => ({
  'training.kubeflow.org/job-name': 'llm',
  'training.kubeflow.org/replica-type': role,
  'training.kubeflow.org/replica-index': index,
});
const lws = (group: string, worker: string, more: Record<string, string> = {}) => ({
  'leaderworkerset.sigs.k8s.io/name': 'serve',
  'leaderworkerset.sigs.k8s.io/group-index': group,
  'leaderworkerset.sigs.k8s.io/worker-index': worker,
  'leaderworkerset.sigs.k8s.io/group-key': 'key',
  ...more,
});
const bySet = owner('apps/v1', 'StatefulSet', 'serve');

const said = (given: V1Pod, led?: boolean): string => {
  const seen = preflightPodOf(given, led);
  return seen ? `${seen.workload.name} ${seen.workload.uid} ${seen.workload.job?.kind ?? '-'} ${seen.rank}` : 'none';
};

describe('whose pod it is that tests its node, and its rank', () => {
  it.each<[sentence: string, pod: V1Pod, led: boolean | undefined, expected: string]>([
    [
      'of a batch Job its index',
      pod({
        labels: { [`${batch}/job-name`]: 'bench' },
        annotations: { [`${batch}/job-completion-index`]: ' 3 ' },
        by: byJob,
      }),
      false,
      'bench uid-bench Job 3',
    ],
    [
      'of a batch Job its index as a label',
      pod({ labels: { [`${batch}/job-name`]: 'bench', [`${batch}/job-completion-index`]: '4' }, by: byJob }),
      false,
      'bench uid-bench Job 4',
    ],
    [
      'of a batch Job by its old label',
      pod({ labels: { 'job-name': 'bench' }, annotations: { [`${batch}/job-completion-index`]: '0' }, by: byJob }),
      false,
      'bench uid-bench Job 0',
    ],
    [
      'of a Job without an index none',
      pod({ labels: { [`${batch}/job-name`]: 'bench' }, by: byJob }),
      undefined,
      'none',
    ],
    [
      'of an index that is no number none',
      pod({
        labels: { [`${batch}/job-name`]: 'bench' },
        annotations: { [`${batch}/job-completion-index`]: 'abc' },
        by: byJob,
      }),
      undefined,
      'none',
    ],
    [
      'of a negative index none',
      pod({
        labels: { [`${batch}/job-name`]: 'bench' },
        annotations: { [`${batch}/job-completion-index`]: '-1' },
        by: byJob,
      }),
      undefined,
      'none',
    ],
    [
      'of an index beyond all workloads none',
      pod({
        labels: { [`${batch}/job-name`]: 'bench' },
        annotations: { [`${batch}/job-completion-index`]: '10000' },
        by: byJob,
      }),
      undefined,
      'none',
    ],
    [
      'of a pod without a controller none',
      pod({ labels: { [`${batch}/job-name`]: 'bench' }, annotations: { [`${batch}/job-completion-index`]: '1' } }),
      undefined,
      'none',
    ],
    [
      'of a LeaderWorkerSet its group and its place in that',
      pod({ labels: lws('2', '5'), by: bySet }),
      undefined,
      'serve-2 key - 5',
    ],
    ['of the leader of a group 0', pod({ labels: lws('2', '0'), by: bySet }), undefined, 'serve-2 key - 0'],
    [
      'of a LeaderWorkerSet before any other label',
      pod({ labels: { ...lws('0', '1'), [`${batch}/job-name`]: 'bench' }, by: bySet }),
      undefined,
      'serve-0 key - 1',
    ],
    [
      'of a group without a key by who controls it',
      pod({ labels: { ...lws('1', '1'), 'leaderworkerset.sigs.k8s.io/group-key': '' }, by: bySet }),
      undefined,
      'serve-1 uid-serve - 1',
    ],
    ['of a group that is no number none', pod({ labels: lws('a', '1'), by: bySet }), undefined, 'none'],
    ['of a worker index that is no number none', pod({ labels: lws('1', 'x'), by: bySet }), undefined, 'none'],
    ['of a master 0', pod({ labels: kubeflow('master', '0'), by: byPytorch }), true, 'llm uid-llm PyTorchJob 0'],
    [
      'of a chief 0, in any case',
      pod({ labels: kubeflow('Chief', '0'), by: byPytorch }),
      true,
      'llm uid-llm PyTorchJob 0',
    ],
    ['of a launcher 0', pod({ labels: kubeflow('launcher', '0'), by: byPytorch }), true, 'llm uid-llm PyTorchJob 0'],
    [
      'of a worker beside a master one more than its index',
      pod({ labels: kubeflow('worker', '2'), by: byPytorch }),
      true,
      'llm uid-llm PyTorchJob 3',
    ],
    [
      'of a worker without a master its index',
      pod({ labels: kubeflow('worker', '2'), by: byPytorch }),
      false,
      'llm uid-llm PyTorchJob 2',
    ],
    [
      'of a batch Job that is not known none: anybody can claim one',
      pod({
        labels: { [`${batch}/job-name`]: 'bench' },
        annotations: { [`${batch}/job-completion-index`]: '0' },
        by: byJob,
      }),
      undefined,
      'none',
    ],
    [
      'of a master none while its job is not known',
      pod({ labels: kubeflow('master', '0'), by: byPytorch }),
      undefined,
      'none',
    ],
    [
      'of a worker none while its job is not known',
      pod({ labels: kubeflow('worker', '2'), by: byPytorch }),
      undefined,
      'none',
    ],
    [
      'of a worker of a kind that has no master its index',
      pod({ labels: kubeflow('worker', '2'), by: owner('kubeflow.org/v1', 'JAXJob', 'llm') }),
      undefined,
      'llm uid-llm - 2',
    ],
    ['of a parameter server none', pod({ labels: kubeflow('ps', '0'), by: byPytorch }), true, 'none'],
    ['of a pod without labels of any kind none', pod({ by: byJob }), undefined, 'none'],
  ])('%s', (_sentence, given, led, expected) => {
    expect(said(given, led)).toBe(expected);
  });

  it('is not asked of pods that are not labelled so, or have nothing to test with', () => {
    const labels = { [`${batch}/job-name`]: 'bench', [`${batch}/job-completion-index`]: '1' };
    expect(isPreflightPod(pod({ labels, by: byJob }))).toBe(true);
    for (const other of [
      pod({ labels: { ...labels, 'kcover.io/preflight': 'True' }, by: byJob }),
      pod({ labels, by: byJob, init: 'setup' }),
    ]) {
      expect(isPreflightPod(other)).toBe(false);
      expect(preflightPodOf(other, true)).toBeUndefined();
      expect(workloadOf(other)).toBeUndefined();
    }
  });

  it.each<[KubeflowKindName, Record<string, number>]>([
    ['PyTorchJob', { Master: 1 }],
    ['TFJob', { Chief: 1 }],
    ['TFJob', { Master: 1 }],
    ['MPIJob', { Launcher: 1 }],
    ['XGBoostJob', { Master: 1 }],
    ['PaddleJob', { Master: 1 }],
  ])('depends in a %s on whether it has %j, which is seen in whose success is its own', (kind, master) => {
    const roleOf = (roles: Record<string, number>) => jobKinds[kind].succeedsWith(manifest(kind, roles))?.role;
    expect(isMaster(roleOf({ ...master, Worker: 2 }))).toBe(true);
    expect(isMaster(roleOf({ Worker: 2 }))).toBe(false);
  });
});

describe('when a pod tested', () => {
  const labels = { [`${batch}/job-name`]: 'bench', [`${batch}/job-completion-index`]: '1' };
  const running = { running: { startedAt: at('2026-11-21T07:00:00Z') } };
  const ended = (from: string, until: string, exitCode = 0) => ({
    terminated: { exitCode, startedAt: at(from), finishedAt: at(until) },
  });
  const times = (state?: V1ContainerState, lastState?: V1ContainerState) => {
    const {
      tests,
      testing,
      ended: code,
    } = preflightPodOf(pod({ labels, by: byJob, ...(state && { state }), ...(lastState && { lastState }) }), false) ??
    {};
    return { tests, testing, ...(code !== undefined && { ended: code }) };
  };

  it('is not known before it did', () => {
    expect(times({ waiting: { reason: 'PodInitializing' } })).toEqual({ tests: [], testing: false });
    expect(times()).toEqual({ tests: [], testing: false });
  });

  it('has no end while it runs', () => {
    expect(times(running)).toEqual({ tests: [{ from: '2026-11-21T07:00:00Z' }], testing: true });
  });

  it('has an exit code once it ended', () => {
    const end = ended('2026-11-21T07:00:00Z', '2026-11-21T07:02:00Z', 3);
    expect(times(end)).toEqual({
      tests: [{ from: '2026-11-21T07:00:00Z', until: '2026-11-21T07:02:00Z' }],
      testing: false,
      ended: 3,
    });
  });

  it('includes the run before', () => {
    const before = ended('2026-11-21T06:50:00Z', '2026-11-21T06:52:00Z', 1);
    expect(times(running, before).tests).toEqual([
      { from: '2026-11-21T06:50:00Z', until: '2026-11-21T06:52:00Z' },
      { from: '2026-11-21T07:00:00Z' },
    ]);
  });

  it('is never for a container that could not be started', () => {
    expect(times(ended('1970-01-01T00:00:00Z', '2026-11-21T07:02:00Z', 128)).tests).toEqual([]);
  });
});

import { describe, expect, it } from '@jest/globals';
import type { V1ContainerState, V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { isWorking, trainingPodOf } from '../../../kube/pods/training-pods.ts';

/** A time as the API server sends it, as text. */
const at = (time: string): Date => `2026-11-21T${time}` as unknown as Date;
const runs = (from: string): V1ContainerState => ({ running: { startedAt: at(from) } });
const ended = (from: string): V1ContainerState => ({ terminated: { exitCode: 1, startedAt: at(from) } });
const container = (state: V1ContainerState, lastState: V1ContainerState = {}): V1ContainerStatus => ({
  name: 'c',
  image: 'i',
  imageID: 'i',
  ready: true,
  restartCount: 0,
  state,
  lastState,
});

interface Given {
  readonly containers?: readonly V1ContainerStatus[];
  readonly init?: readonly V1ContainerStatus[];
  readonly phase?: string;
  readonly terminating?: boolean;
  readonly node?: string;
  readonly role?: string;
  readonly kind?: string;
}
const pod = ({
  containers = [],
  init = [],
  phase = 'Running',
  terminating = false,
  node = 'gpu-1',
  role = 'worker',
  kind = 'PyTorchJob',
}: Given = {}): V1Pod => ({
  metadata: {
    name: 'llm-worker-1',
    namespace: 'train',
    uid: 'pod-uid',
    creationTimestamp: at('06:59:58Z'),
    labels: {
      'training.kubeflow.org/job-name': 'llm',
      'training.kubeflow.org/replica-type': role,
      'training.kubeflow.org/replica-index': '1',
    },
    ownerReferences: [{ apiVersion: 'kubeflow.org/v1', kind, name: 'llm', uid: 'job-uid', controller: true }],
    ...(terminating && { deletionTimestamp: at('07:30:00Z') }),
  },
  spec: { containers: [{ name: 'pytorch' }, { name: 'proxy' }], ...(node !== '' && { nodeName: node }) },
  status: { phase, containerStatuses: [...containers], initContainerStatuses: [...init] },
});

describe('a pod that trains', () => {
  it('is of a job, at a place among its pods, on a node', () => {
    expect(trainingPodOf(pod())).toEqual({
      name: 'llm-worker-1',
      uid: 'pod-uid',
      container: 'pytorch',
      job: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job-uid' },
      workload: 'llm',
      place: { worker: 1 },
      node: 'gpu-1',
      createdAt: '2026-11-21T06:59:58Z',
      present: true,
    });
  });

  it.each([
    ['proxy', 'proxy'],
    ['gone', 'pytorch'],
  ])('trains in the container that kubectl shows: %s', (annotated, trainer) => {
    const { metadata, ...rest } = pod();
    const annotations = { 'kubectl.kubernetes.io/default-container': annotated };
    expect(trainingPodOf({ ...rest, metadata: { ...metadata, annotations } })?.container).toBe(trainer);
  });

  it.each<[sentence: string, given: Given]>([
    ['is none while it has no node', { node: '' }],
    ['is none when it is a parameter server', { role: 'ps' }],
    ['is none of an unknown kind of job', { kind: 'RayJob' }],
  ])('%s', (_sentence, given) => {
    expect(trainingPodOf(pod(given))).toBeUndefined();
  });

  it.each<[sentence: string, given: Given, startedAt: string | undefined]>([
    [
      'has not begun while only an init container runs',
      { init: [container(runs('07:00:00Z'))], containers: [container({ waiting: {} })] },
      undefined,
    ],
    [
      'began with the first of its containers',
      { containers: [container(runs('07:00:05Z')), container(runs('07:00:02Z'))] },
      '2026-11-21T07:00:02Z',
    ],
    [
      'began with the last start of a container that started again',
      { containers: [container(runs('07:10:00Z'), ended('07:00:00Z'))] },
      '2026-11-21T07:10:00Z',
    ],
    [
      'began with the last run while a container waits to start again',
      { containers: [container({ waiting: {} }, ended('07:00:00Z'))] },
      '2026-11-21T07:00:00Z',
    ],
    [
      'has not begun with a container that could not be started',
      { containers: [container({ terminated: { exitCode: 128, startedAt: '1970-01-01T00:00:00Z' as never } })] },
      undefined,
    ],
  ])('%s', (_sentence, given, startedAt) => {
    expect(trainingPodOf(pod(given))?.startedAt).toBe(startedAt);
  });

  it.each<[sentence: string, given: Given, present: boolean, ended: true | undefined]>([
    ['is of the present attempt before it runs', { phase: 'Pending' }, true, undefined],
    ['is no longer when it was asked to go, but may still save', { terminating: true }, false, undefined],
    ['is no longer when it has failed', { phase: 'Failed' }, false, true],
    ['is no longer when it has succeeded', { phase: 'Succeeded' }, false, true],
  ])('%s', (_sentence, given, present, ended) => {
    const seen = trainingPodOf(pod(given));
    expect([seen?.present, seen?.ended]).toEqual([present, ended]);
  });

  it.each<[sentence: string, given: Given, working: boolean]>([
    ['works while its containers run', { containers: [container(runs('07:00:00Z'))] }, true],
    [
      'works beside a helper that is done',
      { containers: [container(runs('07:00:00Z')), container(ended('07:00:00Z'))] },
      true,
    ],
    [
      'does not work while a container waits to start again',
      { containers: [container(runs('07:00:00Z')), container({ waiting: {} })] },
      false,
    ],
    ['does not work before it has containers', { containers: [] }, false],
    ['does not work before it runs', { phase: 'Pending', containers: [container(runs('07:00:00Z'))] }, false],
    ['does not work when it was asked to go', { terminating: true, containers: [container(runs('07:00:00Z'))] }, false],
  ])('%s', (_sentence, given, working) => {
    expect(isWorking(pod(given))).toBe(working);
  });
});

import { describe, expect, it } from '@jest/globals';
import type { V1ContainerStatus, V1Pod, V1PodSpec, V1PodStatus } from '@kubernetes/client-node';
import type { JobKind } from '../../../contract/job/jobs.ts';
import { jobKinds } from '../../../kube/jobs/kinds/index.ts';
import { podFailures } from '../../../kube/pods/failures.ts';

/** A time as the API server sends it, as text. */
const at = (text: string): Date => text as unknown as Date;

const pod = (
  status: V1PodStatus,
  metadata: {
    readonly name?: string;
    readonly uid?: string;
    readonly creationTimestamp?: Date;
    readonly deletionTimestamp?: Date;
  } = {},
  spec: Partial<V1PodSpec> = {},
): V1Pod => ({
  metadata: {
    name: 'llm-worker-1',
    namespace: 'train',
    uid: 'pod-1',
    creationTimestamp: at('2026-11-21T06:00:00Z'),
    ...metadata,
  },
  spec: { nodeName: 'gpu-3', containers: [{ name: 'pytorch' }, { name: 'exporter' }], ...spec },
  status,
});

const ended = (exitCode: number, reason: string, containerID = 'containerd://a') => ({
  exitCode,
  reason,
  containerID,
  finishedAt: at('2026-11-21T07:09:03Z'),
});
const container = (name: string, more: Partial<V1ContainerStatus>): V1ContainerStatus => ({
  name,
  image: 'i',
  imageID: 'i',
  ready: false,
  restartCount: 0,
  ...more,
});
const condition = (type: string, reason: string, message = '') => ({
  type,
  status: 'True',
  reason,
  message,
  lastTransitionTime: at('2026-11-21T07:09:01Z'),
});

/** A log shipper beside the trainer. */
const sidecar: Partial<V1PodSpec> = { initContainers: [{ name: 'logs', restartPolicy: 'Always' }] };

const cases: readonly [sentence: string, pod: V1Pod, expected: readonly [id: string, code: string][]][] = [
  [
    'a running pod has none',
    pod({ phase: 'Running', containerStatuses: [container('pytorch', { state: { running: {} } })] }),
    [],
  ],
  [
    'a container that ended well is none',
    pod({
      phase: 'Succeeded',
      containerStatuses: [container('pytorch', { state: { terminated: ended(0, 'Completed') } })],
    }),
    [],
  ],
  [
    'a container that exits with an error is one',
    pod({ phase: 'Failed', containerStatuses: [container('pytorch', { state: { terminated: ended(1, 'Error') } })] }),
    [['pod/pod-1/containerd://a', 'pod/exit']],
  ],
  [
    'a container killed for its memory is named so',
    pod({
      phase: 'Failed',
      containerStatuses: [container('pytorch', { state: { terminated: ended(137, 'OOMKilled') } })],
    }),
    [['pod/pod-1/containerd://a', 'pod/oom-killed']],
  ],
  [
    'memory that ran out is none in a pod that succeeded',
    pod({
      phase: 'Succeeded',
      containerStatuses: [container('pytorch', { state: { terminated: ended(0, 'OOMKilled') } })],
    }),
    [],
  ],
  [
    'memory that ran out is none where the container ended with 0 and is not started again',
    pod({
      phase: 'Running',
      containerStatuses: [container('pytorch', { state: { terminated: ended(0, 'OOMKilled') } })],
    }),
    [],
  ],
  [
    'memory that ran out is one where the container is started again though it ended with 0',
    pod(
      {
        phase: 'Running',
        containerStatuses: [container('pytorch', { lastState: { terminated: ended(0, 'OOMKilled') } })],
      },
      {},
      { restartPolicy: 'Always' },
    ),
    [['pod/pod-1/containerd://a', 'pod/oom-killed']],
  ],
  [
    'a container that failed before its pod succeeded is none',
    pod({
      phase: 'Succeeded',
      containerStatuses: [
        container('pytorch', {
          state: { terminated: ended(0, 'Completed', 'containerd://b') },
          lastState: { terminated: ended(1, 'Error') },
        }),
      ],
    }),
    [],
  ],
  [
    'a container that was restarted in place shows its death in lastState',
    pod({
      phase: 'Running',
      containerStatuses: [
        container('pytorch', { restartCount: 1, state: { running: {} }, lastState: { terminated: ended(1, 'Error') } }),
      ],
    }),
    [['pod/pod-1/containerd://a', 'pod/exit']],
  ],
  [
    'the same death in state and lastState is one fault',
    pod({
      phase: 'Failed',
      containerStatuses: [
        container('pytorch', {
          state: { terminated: ended(1, 'Error') },
          lastState: { terminated: ended(1, 'Error') },
        }),
      ],
    }),
    [['pod/pod-1/containerd://a', 'pod/exit']],
  ],
  [
    'two deaths of one container are two faults, the older first',
    pod({
      phase: 'Failed',
      containerStatuses: [
        container('pytorch', {
          state: { terminated: ended(1, 'Error', 'containerd://b') },
          lastState: { terminated: ended(137, 'OOMKilled') },
        }),
      ],
    }),
    [
      ['pod/pod-1/containerd://a', 'pod/oom-killed'],
      ['pod/pod-1/containerd://b', 'pod/exit'],
    ],
  ],
  [
    'a program that cannot run is distinguished from one that failed',
    pod({ containerStatuses: [container('pytorch', { state: { terminated: ended(128, 'ContainerCannotRun') } })] }),
    [['pod/pod-1/containerd://a', 'pod/cannot-run']],
  ],
  [
    'an init container that fails and is tried again is none',
    pod({
      phase: 'Pending',
      initContainerStatuses: [
        container('init-pytorch', {
          restartCount: 1,
          state: { running: {} },
          lastState: { terminated: ended(1, 'Error') },
        }),
      ],
    }),
    [],
  ],
  [
    'an init container that has just failed is none while its pod did not fail',
    pod({
      phase: 'Pending',
      initContainerStatuses: [container('init-pytorch', { state: { terminated: ended(1, 'Error') } })],
    }),
    [],
  ],
  [
    'an init container that fails its pod is one',
    pod({
      phase: 'Failed',
      initContainerStatuses: [container('init-pytorch', { state: { terminated: ended(2, 'Error') } })],
    }),
    [['pod/pod-1/containerd://a', 'pod/init-exit']],
  ],
  [
    'an init container that failed before it passed explains no failure of its pod',
    pod({
      phase: 'Failed',
      initContainerStatuses: [
        container('init-pytorch', {
          state: { terminated: ended(0, 'Completed') },
          lastState: { terminated: ended(1, 'Error', 'containerd://b') },
        }),
      ],
      containerStatuses: [container('pytorch', { state: { terminated: ended(1, 'Error', 'containerd://c') } })],
    }),
    [['pod/pod-1/containerd://c', 'pod/exit']],
  ],
  [
    'a native sidecar that is started again beside a running trainer is none',
    pod(
      {
        phase: 'Running',
        initContainerStatuses: [
          container('logs', { restartCount: 1, state: { running: {} }, lastState: { terminated: ended(1, 'Error') } }),
        ],
        containerStatuses: [container('pytorch', { state: { running: {} } })],
      },
      {},
      sidecar,
    ),
    [],
  ],
  [
    'a native sidecar that was killed with its pod explains no failure of it',
    pod(
      {
        phase: 'Failed',
        initContainerStatuses: [container('logs', { state: { terminated: ended(137, 'Error', 'containerd://b') } })],
        containerStatuses: [container('pytorch', { state: { terminated: ended(1, 'Error') } })],
      },
      {},
      sidecar,
    ),
    [['pod/pod-1/containerd://a', 'pod/exit']],
  ],
  [
    'a native sidecar that was killed after its rank succeeded is none',
    pod(
      {
        phase: 'Succeeded',
        initContainerStatuses: [container('logs', { state: { terminated: ended(143, 'Error') } })],
        containerStatuses: [container('pytorch', { state: { terminated: ended(0, 'Completed') } })],
      },
      {},
      sidecar,
    ),
    [],
  ],
  [
    'another container that is started again beside the one of its kind is none',
    pod({
      phase: 'Running',
      containerStatuses: [
        container('exporter', { state: { running: {} }, lastState: { terminated: ended(1, 'Error') } }),
      ],
    }),
    [],
  ],
  [
    'another container that failed its pod is one',
    pod({
      phase: 'Failed',
      containerStatuses: [
        container('pytorch', { state: { terminated: ended(0, 'Completed', 'containerd://b') } }),
        container('exporter', { state: { terminated: ended(1, 'Error') } }),
      ],
    }),
    [['pod/pod-1/containerd://a', 'pod/exit']],
  ],
  [
    'an init container that ended well is none',
    pod({
      phase: 'Running',
      initContainerStatuses: [container('preflight', { state: { terminated: ended(0, 'Completed') } })],
    }),
    [],
  ],
  [
    'an eviction is one',
    pod({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory' }),
    [['pod/pod-1/Evicted', 'pod/evicted']],
  ],
  [
    'a pod that is about to be disrupted is one',
    pod({ phase: 'Running', conditions: [condition('DisruptionTarget', 'PreemptionByScheduler')] }),
    [['pod/pod-1/DisruptionTarget-PreemptionByScheduler', 'pod/disruption']],
  ],
  [
    'a failed phase that nothing explains is one',
    pod({ phase: 'Failed', reason: 'NodeLost' }),
    [['pod/pod-1/NodeLost', 'pod/failed']],
  ],
  [
    'a failed phase that a death explains is not another',
    pod({ phase: 'Failed', containerStatuses: [container('pytorch', { state: { terminated: ended(1, 'Error') } })] }),
    [['pod/pod-1/containerd://a', 'pod/exit']],
  ],
  [
    'a pod that is being deleted has none',
    pod(
      { phase: 'Failed', containerStatuses: [container('pytorch', { state: { terminated: ended(143, 'Error') } })] },
      { deletionTimestamp: at('2026-11-21T07:09:00Z') },
    ),
    [],
  ],
];

describe('failures of a pod', () => {
  it.each(cases)('%s', (_, given, expected) => {
    expect(podFailures(given, jobKinds.PyTorchJob).map((fault) => [fault.id, fault.code])).toEqual(expected);
  });

  const beside = (resources: object, status: V1ContainerStatus[]): V1Pod =>
    pod(
      { phase: 'Running', containerStatuses: status },
      {},
      { containers: [{ name: 'trainer', resources }, { name: 'exporter' }] },
    );
  const again = (name: string) => [
    container(name, { restartCount: 1, state: { running: {} }, lastState: { terminated: ended(1, 'Error') } }),
  ];
  const gpus = { limits: { 'nvidia.com/gpu': '8' } };

  it.each<[sentence: string, kind: JobKind, pod: V1Pod, codes: readonly string[]]>([
    ['the container with GPUs is a rank of a batch Job', 'Job', beside(gpus, again('trainer')), ['pod/exit']],
    ['a container without GPUs beside it is none', 'Job', beside(gpus, again('exporter')), []],
    ['every container is, where none asks for GPUs', 'Job', beside({}, again('exporter')), ['pod/exit']],
    [
      'a container of another name is a rank where a pod has none of the name of its kind',
      'MPIJob',
      beside({}, again('trainer')),
      ['pod/exit'],
    ],
  ])('%s', (_sentence, kind, given, codes) => {
    expect(podFailures(given, jobKinds[kind]).map(({ code }) => code)).toEqual(codes);
  });

  it('names container, exit code, reason, node, pod and time', () => {
    const [fault] = podFailures(
      pod({
        phase: 'Failed',
        containerStatuses: [
          container('pytorch', {
            state: { terminated: { ...ended(1, 'Error'), message: 'CUDA error:\n device lost' } },
          }),
        ],
      }),
      jobKinds.PyTorchJob,
    );
    expect(fault).toEqual({
      id: 'pod/pod-1/containerd://a',
      source: 'pod',
      code: 'pod/exit',
      message: 'container pytorch of llm-worker-1 ended with exit code 1: Error: CUDA error: device lost',
      seenAt: '2026-11-21T07:09:03Z',
      node: 'gpu-3',
      pod: { name: 'llm-worker-1', uid: 'pod-1', createdAt: '2026-11-21T06:00:00Z' },
    });
  });

  it('reads times of the typed client as well', () => {
    const typed = pod(
      { phase: 'Failed', reason: 'Evicted' },
      { name: 'llm-worker-1', uid: 'pod-1', creationTimestamp: new Date('2026-11-21T06:00:00Z') },
    );
    expect(podFailures(typed, jobKinds.PyTorchJob)[0]?.pod?.createdAt).toBe('2026-11-21T06:00:00Z');
  });
});

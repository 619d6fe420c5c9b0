import { describe, expect, it } from '@jest/globals';
import type { V1ContainerStatus, V1Pod, V1PodStatus } from '@kubernetes/client-node';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';
import { podFailures } from '../../kube/pods/failures.ts';

/** A time as the API server sends it, as text. */
const at = (text: string): Date => text as unknown as Date;

const ended = (exitCode: number, reason: string) => ({
  exitCode,
  reason,
  containerID: 'containerd://a',
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

const preflight = (status: V1PodStatus, label = 'true'): V1Pod => ({
  metadata: {
    name: 'llm-worker-1',
    uid: 'pod-1',
    creationTimestamp: at('2026-11-21T06:00:00Z'),
    labels: { 'kcover.io/preflight': label },
  },
  spec: { nodeName: 'gpu-3', containers: [], initContainers: [{ name: 'setup' }, { name: 'preflight' }] },
  status,
});
const found = (reason = 'Error', exitCode = 3) => [
  container('preflight', { state: { terminated: ended(exitCode, reason) } }),
];

describe('failures of a pod that tests its node', () => {
  it.each<[sentence: string, pod: V1Pod, codes: readonly string[]]>([
    ['a preflight that found something is none', preflight({ phase: 'Pending', initContainerStatuses: found() }), []],
    [
      'a preflight that found something and failed its pod is none',
      preflight({ phase: 'Failed', initContainerStatuses: found() }),
      [],
    ],
    [
      'a preflight that found something before and runs again is none',
      preflight({
        phase: 'Pending',
        initContainerStatuses: [
          container('preflight', { state: { running: {} }, lastState: { terminated: ended(3, 'Error') } }),
        ],
      }),
      [],
    ],
    [
      'a preflight that ran out of memory is one',
      preflight({ phase: 'Failed', initContainerStatuses: found('OOMKilled', 137) }),
      ['pod/oom-killed'],
    ],
    [
      'a preflight that was killed is one',
      preflight({ phase: 'Failed', initContainerStatuses: found('Error', 137) }),
      ['pod/init-exit'],
    ],
    [
      'a preflight whose command was not found is one',
      preflight({ phase: 'Failed', initContainerStatuses: found('Error', 127) }),
      ['pod/init-exit'],
    ],
    [
      'a preflight that a signal ended is one',
      preflight({
        phase: 'Failed',
        initContainerStatuses: [container('preflight', { state: { terminated: { ...ended(1, 'Error'), signal: 9 } } })],
      }),
      ['pod/init-exit'],
    ],
    [
      'a preflight with the last code of its own is none',
      preflight({ phase: 'Failed', initContainerStatuses: found('Error', 125) }),
      [],
    ],
    [
      'a preflight that cannot be started is one',
      preflight({ phase: 'Pending', initContainerStatuses: found('StartError', 128) }),
      ['pod/cannot-run'],
    ],
    [
      'another init container that fails before it is none while it is tried again',
      preflight({
        phase: 'Pending',
        initContainerStatuses: [container('setup', { state: { terminated: ended(1, 'Error') } })],
      }),
      [],
    ],
    [
      'a container that fails after a preflight that found something is one',
      preflight({
        phase: 'Failed',
        initContainerStatuses: found(),
        containerStatuses: [container('pytorch', { state: { terminated: ended(1, 'Error') } })],
      }),
      ['pod/exit'],
    ],
    [
      'an eviction of its pod is one',
      preflight({ phase: 'Failed', reason: 'Evicted', initContainerStatuses: found() }),
      ['pod/evicted'],
    ],
    [
      'a pod that failed for another reason is one',
      preflight({ phase: 'Failed', reason: 'NodeLost', initContainerStatuses: found() }),
      ['pod/failed'],
    ],
    [
      'a failed phase without a preflight that found anything is one',
      preflight({ phase: 'Failed', initContainerStatuses: found('Completed', 0) }),
      ['pod/failed'],
    ],
    [
      'without the label strictly true it is an init container like others',
      preflight({ phase: 'Failed', initContainerStatuses: found() }, 'yes'),
      ['pod/init-exit'],
    ],
  ])('%s', (_sentence, given, codes) => {
    expect(podFailures(given, jobKinds.PyTorchJob).map(({ code }) => code)).toEqual(codes);
  });
});

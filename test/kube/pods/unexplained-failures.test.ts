import { describe, expect, it } from '@jest/globals';
import type { V1ContainerStatus, V1Pod, V1PodStatus } from '@kubernetes/client-node';
import { isUnexplained } from '../../../kube/pods/failures.ts';

const ended = (exitCode: number, reason: string) => ({ exitCode, reason, containerID: 'containerd://a' });
const container = (name: string, more: Partial<V1ContainerStatus>): V1ContainerStatus => ({
  name,
  image: 'i',
  imageID: 'i',
  ready: false,
  restartCount: 0,
  ...more,
});

describe('a pod whose container a signal ended', () => {
  const killed = (status: Partial<V1PodStatus>): V1Pod => ({
    metadata: { name: 'llm-worker-1', namespace: 'train', uid: 'pod-1' },
    spec: { nodeName: 'gpu-3', containers: [{ name: 'pytorch' }] },
    status: {
      phase: 'Running',
      containerStatuses: [container('pytorch', { state: { terminated: ended(137, 'Error') } })],
      ...status,
    },
  });
  const state = (exitCode: number, reason: string) => ({
    containerStatuses: [container('pytorch', { state: { terminated: ended(exitCode, reason) } })],
  });

  it.each<[sentence: string, status: Partial<V1PodStatus>, unexplained: boolean]>([
    ['is unexplained as long as its kubelet neither starts it again nor says that the pod failed', {}, true],
    ['is unexplained after SIGTERM too', state(143, 'Error'), true],
    ['is explained when the pod has failed', { phase: 'Failed', reason: 'Evicted' }, false],
    ['is explained when memory ran out', state(137, 'OOMKilled'), false],
    ['is no such pod when the container ended by itself', state(1, 'Error'), false],
    [
      'is explained when its container is started again',
      {
        containerStatuses: [
          container('pytorch', { state: { running: {} }, lastState: { terminated: ended(137, 'Error') } }),
        ],
      },
      false,
    ],
    [
      'is explained when its container waits to be started again',
      {
        containerStatuses: [
          container('pytorch', {
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: { terminated: ended(137, 'Error') },
          }),
        ],
      },
      false,
    ],
  ])('%s', (_, status, unexplained) => {
    expect(isUnexplained(killed(status))).toBe(unexplained);
  });
});

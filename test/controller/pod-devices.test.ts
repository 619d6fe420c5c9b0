import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import { watchPodDevices } from '../../controller/watch/pod-devices.ts';

const gpu = 'nvidia.com/gpu';
const id = 'allocatable/pod/pod-uid/GPU-5d00/unhealthy-device/reset-gpu';

const pod = (health: string) => ({
  metadata: { name: 'llm-0', namespace: 'train', uid: 'pod-uid' },
  spec: { nodeName: 'gpu-1' },
  status: {
    containerStatuses: [{ allocatedResourcesStatus: [{ name: gpu, resources: [{ resourceID: 'GPU-5d00', health }] }] }],
  },
});

let ending: AbortController;
beforeEach(() => {
  jest.useFakeTimers();
  ending = new AbortController();
});
afterEach(() => {
  ending.abort();
  jest.useRealTimers();
});

/** Ids of the faults that a controller sends, which begins to lead when a release of the node has recorded these. */
function faultsOf(recorded: readonly string[], ...healths: readonly string[]): readonly string[] {
  const sent: string[] = [];
  const state = JSON.stringify({ faults: [], allocatable: {}, reported: recorded });
  const watch = watchPodDevices({
    object: () => ({ metadata: { name: 'gpu-1', annotations: { 'kcover.io/judged-state': state } } }),
    offered: () => 8,
    report: (_node, fault) => void sent.push(fault.id),
    debounceMs: 100,
    log: pino({ level: 'silent' }),
    signal: ending.signal,
  });
  for (const health of healths) {
    watch.see({ type: 'modified', object: pod(health) });
    jest.advanceTimersByTime(1000);
  }
  return sent;
}

describe('an unhealthy device of a pod that runs on', () => {
  it('is one fault, and another one when it was healthy in between', () => {
    expect(faultsOf([], 'Unhealthy', 'Unhealthy', 'Healthy', 'Unhealthy')).toEqual([id, `${id}/again-1`]);
  });

  it('does not count for the next controller when a release of the node has recorded it', () => {
    expect(faultsOf([id], 'Unhealthy', 'Unhealthy')).toEqual([]);
    expect(faultsOf([`${id}/again-1`], 'Unhealthy')).toEqual([]);
  });

  it('counts after a release when it was healthy in between', () => {
    expect(faultsOf([id], 'Unhealthy', 'Healthy', 'Unhealthy')).toEqual([`${id}/again-1`]);
  });
});

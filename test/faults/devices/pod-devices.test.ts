import { describe, expect, it } from '@jest/globals';
import { readPodDevices } from '../../../faults/devices/pod-devices.ts';

const pod = (name: string, resourceID: string, health?: string) => ({
  metadata: { name: 'llm-0', namespace: 'train' },
  spec: { nodeName: 'gpu-1' },
  status: {
    containerStatuses: [
      {},
      { allocatedResourcesStatus: [{ name, resources: [{ resourceID, ...(health !== undefined && { health }) }] }] },
    ],
  },
});

describe('the devices of a pod', () => {
  it('that the kubelet reports as unhealthy are faults of the node, with device and pod', () => {
    const [found] = readPodDevices(pod('nvidia.com/gpu', 'GPU-5d00', 'Unhealthy'));
    expect(found).toMatchObject({
      resource: 'nvidia.com/gpu',
      finding: {
        source: 'allocatable',
        code: 'allocatable/unhealthy-device',
        node: 'gpu-1',
        device: 'GPU-5d00',
        message: 'nvidia.com/gpu GPU-5d00 of pod train/llm-0 is Unhealthy',
      },
    });
  });

  it('of a claim are known by the name of their driver', () => {
    const unhealthy = (id: string) => readPodDevices(pod('claim:gpus', id, 'Unhealthy')).length;
    expect([unhealthy('gpu.nvidia.com/pool/gpu-3'), unhealthy('nic.example.com/pool/eth1')]).toEqual([1, 0]);
  });

  it.each([
    ['healthy', 'nvidia.com/gpu', 'Healthy'],
    ['unknown', 'nvidia.com/gpu', 'Unknown'],
    ['without a health', 'nvidia.com/gpu', undefined],
    ['no accelerators', 'example.com/nic', 'Unhealthy'],
  ])('that are %s say nothing', (_, name, health) => {
    expect(readPodDevices(pod(name, 'id-1', health))).toEqual([]);
    expect(readPodDevices({})).toEqual([]);
  });
});

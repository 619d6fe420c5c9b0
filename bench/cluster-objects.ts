/** Nodes and pods as large as those of real GPU clusters: feature labels, image lists, managed fields, environments. */

import type { V1Node, V1Pod } from '@kubernetes/client-node';

const list = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index));
const map = <T>(length: number, make: (index: number) => readonly [string, T]): Record<string, T> =>
  Object.fromEntries(list(length, make));
const text = (length: number): string => 'x'.repeat(length);
const fields = (count: number) => map(count, (index) => [`f:key-${index}.example.com/some-label-${index}`, {}]);
const managers = (count: number) =>
  list(count, (index) => ({
    manager: `m-${index}`,
    operation: 'Update',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:metadata': { 'f:labels': fields(20) }, 'f:status': fields(15) },
  }));

export const largeNode = (index: number): V1Node => ({
  metadata: {
    name: `ip-10-1-${index >> 8}-${index & 255}.us-west-2.compute.internal`,
    uid: `node-${index}`,
    labels: map(45, (each) => [`feature.node.kubernetes.io/label-${each}`, `value-${each}`]),
    annotations: map(12, (each) => [`example.com/annotation-${each}`, text(80)]),
    managedFields: managers(5),
  },
  spec: { providerID: `aws:///us-west-2a/i-${index}` },
  status: {
    capacity: { cpu: '192', 'nvidia.com/gpu': '8' },
    allocatable: { cpu: '191', 'nvidia.com/gpu': '8' },
    conditions: list(8, (each) => ({
      type: each === 0 ? 'Ready' : `Condition${each}`,
      status: 'True',
      reason: text(20),
      message: text(60),
    })),
    images: list(50, (each) => ({
      names: [
        `registry.example.com/team/image-${each}@sha256:${text(64)}`,
        `registry.example.com/team/image-${each}:v1`,
      ],
      sizeBytes: 1e9,
    })),
    nodeInfo: {
      systemUUID: `uuid-${index}`,
      kernelVersion: '6.1',
      architecture: 'amd64',
      bootID: 'b',
      containerRuntimeVersion: 'c',
      kubeletVersion: 'v1',
      kubeProxyVersion: '',
      machineID: 'm',
      operatingSystem: 'linux',
      osImage: 'o',
    },
  },
});

export const largePod = (index: number): V1Pod => ({
  metadata: {
    name: `llm-worker-${index}`,
    namespace: 'train',
    uid: `pod-${index}`,
    labels: {
      'training.kubeflow.org/job-name': 'llm',
      'training.kubeflow.org/replica-type': 'worker',
      'training.kubeflow.org/replica-index': String(index),
      ...map(9, (each) => [`example.com/label-${each}`, `value-${each}`]),
    },
    annotations: map(6, (each) => [`example.com/annotation-${each}`, text(150)]),
    managedFields: managers(3),
    ownerReferences: [{ apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name: 'llm', uid: 'job', controller: true }],
  },
  spec: {
    nodeName: `gpu-${index}`,
    containers: list(2, (each) => ({
      name: each === 0 ? 'pytorch' : 'exporter',
      env: list(40, (variable) => ({ name: `VARIABLE_${variable}`, value: text(20) })),
      volumeMounts: list(8, (volume) => ({ name: `volume-${volume}`, mountPath: `/mnt/${volume}` })),
      resources: { limits: { 'nvidia.com/gpu': '8' } },
    })),
    volumes: list(8, (each) => ({ name: `volume-${each}`, hostPath: { path: `/data/${each}` } })),
    tolerations: list(6, () => ({ operator: 'Exists', key: 'example.com/taint' })),
  },
  status: {
    phase: 'Running',
    conditions: list(5, (each) => ({ type: `Condition${each}`, status: 'True' })),
    containerStatuses: list(2, (each) => ({
      name: each === 0 ? 'pytorch' : 'exporter',
      ready: true,
      restartCount: 1,
      containerID: text(64),
      image: text(60),
      imageID: text(90),
      state: {},
      lastState: { terminated: { exitCode: 1, reason: 'Error', message: 'a message' } },
    })),
  },
});

import { describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { largeNode, largePod } from '../../../bench/cluster-objects.ts';
import { jobKinds } from '../../../kube/jobs/kinds/index.ts';
import { hasAccelerators, nodeView, readinessOf } from '../../../kube/nodes/nodes.ts';
import { podFailures } from '../../../kube/pods/failures.ts';
import { memberOf } from '../../../kube/pods/ranks.ts';
import { requestsOf } from '../../../kube/pods/requests.ts';
import { preflightPodOf } from '../../../kube/pods/preflight-pods.ts';
import { trainingPodOf } from '../../../kube/pods/training-pods.ts';
import { trimNode, trimPod } from '../../../kube/client/trim.ts';

const job = jobKinds.PyTorchJob;
const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const sizeOf = (object: object): number => JSON.stringify(object).length;

const preflightPod: V1Pod = {
  ...largePod(3),
  metadata: { ...largePod(3).metadata, labels: { ...largePod(3).metadata?.labels, 'kcover.io/preflight': 'true' } },
  spec: {
    containers: [],
    ...largePod(3).spec,
    initContainers: [{ name: 'preflight', env: [{ name: 'A', value: 'b' }] }],
  },
};

describe('what a watch keeps', () => {
  it('of a node is less than half, and all that is read of it', () => {
    const [node, kept] = [largeNode(1), trimNode(largeNode(1))];
    expect(sizeOf(kept)).toBeLessThan(sizeOf(node) / 2);
    expect(nodeView(kept, taint)).toEqual(nodeView(node, taint));
    expect(readinessOf(kept)).toEqual(readinessOf(node));
    expect(hasAccelerators(kept)).toBe(true);
    expect(kept.metadata?.labels).toEqual(node.metadata?.labels);
  });

  it.each([
    ['of a job', largePod(1)],
    ['that tests its node', preflightPod],
  ])('of a pod %s is less than half, and all that is read of it', (_, pod) => {
    const kept = trimPod(pod);
    expect(sizeOf(kept)).toBeLessThan(sizeOf(pod) / 2);
    expect(podFailures(pod, job)).not.toEqual([]);
    expect(podFailures(kept, job)).toEqual(podFailures(pod, job));
    expect(memberOf(kept)).toEqual(memberOf(pod));
    expect(preflightPodOf(kept, false)).toEqual(preflightPodOf(pod, false));
    expect(requestsOf(kept.spec)).toEqual(requestsOf(pod.spec));
    expect(trainingPodOf(kept)).toEqual(trainingPodOf(pod));
  });

  it('of a pod does not grow with the text of a tenant', () => {
    const text = 'x'.repeat(100_000);
    const pod = largePod(1);
    const container = { name: 'main', image: text, workingDir: text, args: [text] };
    const large: V1Pod = {
      ...pod,
      metadata: { ...pod.metadata, annotations: { ...pod.metadata?.annotations, text } },
      spec: {
        ...pod.spec,
        hostname: text,
        nodeSelector: { text },
        containers: [container],
        initContainers: [container],
      },
    };
    expect(sizeOf(trimPod(large))).toBeLessThan(sizeOf(trimPod(pod)) + 1000);
  });

  it('of an object without these parts is the object', () => {
    expect(trimNode({ metadata: { name: 'a' } })).toEqual({ metadata: { name: 'a' } });
    expect(trimPod({ metadata: { name: 'a' } })).toEqual({ metadata: { name: 'a' } });
  });
});

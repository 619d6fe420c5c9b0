import { describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { nodeShare } from '../../controller/preflight/node-share.ts';
import { acceleratorsOf } from '../../kube/nodes/nodes.ts';
import { preflightPodOf } from '../../kube/pods/preflight-pods.ts';

const gpu = 'nvidia.com/gpu';

describe('how much of a node its testing pods hold', () => {
  it.each<[sentence: string, has: object, pods: object[], asked: number, of: number]>([
    ['is all of it for one that asks for all', { [gpu]: 8 }, [{ [gpu]: 8 }], 8, 8],
    ['is a part for one that asks for some', { [gpu]: 8 }, [{ [gpu]: 1 }], 1, 8],
    [
      'is all of it for several that ask for all together',
      { [gpu]: 8 },
      Array.from({ length: 8 }, () => ({ [gpu]: 1 })),
      8,
      8,
    ],
    ['is nothing for one that asks for none', { [gpu]: 8 }, [{}], 0, 8],
    ['is nothing where there are none', {}, [{}], 0, 0],
    [
      'is nothing for what the node does not know, which a kubelet does not count',
      {},
      [{ 'example.com/gpu': 8 }],
      0,
      0,
    ],
    ['counts no other kind in place of one that is there', { [gpu]: 8 }, [{ 'example.com/gpu': 8 }], 0, 8],
    ['counts what broke away under it', { [gpu]: 7 }, [{ [gpu]: 8 }], 7, 7],
    ['counts what all broke away under it', { [gpu]: 0 }, [{ [gpu]: 8 }], 8, 0],
  ])('%s', (_, has, pods, asked, of) => {
    expect(nodeShare({ ...has }, pods as Record<string, number>[])).toEqual({ asked, of });
  });

  it('is computed from the capacity of the node and the requests of all containers', () => {
    expect(
      acceleratorsOf({ status: { capacity: { cpu: '192', memory: '2Ti', [gpu]: '8', 'huawei.com/Ascend910': '0' } } }),
    ).toEqual({
      [gpu]: 8,
      'huawei.com/Ascend910': 0,
    });
    const limits = { [gpu]: '4', cpu: '2' };
    const pod: V1Pod = {
      metadata: {
        namespace: 'train',
        name: 'p',
        uid: 'p',
        labels: {
          'kcover.io/preflight': 'true',
          'batch.kubernetes.io/job-name': 'llm',
          'batch.kubernetes.io/job-completion-index': '0',
        },
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'llm', uid: 'u', controller: true }],
      },
      spec: {
        nodeName: 'gpu-1',
        initContainers: [{ name: 'preflight', resources: { limits } }],
        containers: [
          { name: 'a', resources: { limits } },
          { name: 'b', resources: { limits } },
        ],
      },
      status: { phase: 'Failed' },
    };
    expect(preflightPodOf(pod, false)).toMatchObject({ accelerators: { [gpu]: 8 }, over: true });
  });
});

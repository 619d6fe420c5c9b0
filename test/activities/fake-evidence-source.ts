/** A fake source of evidence: four ranks on four nodes, changed by each test. */

import type { KubernetesObject, V1Node, V1Pod } from '@kubernetes/client-node';
import type { EvidenceSource } from '../../activities/evidence/source.ts';
import type { EvidenceRequest } from '../../contract/recovery/evidence.ts';
import { job } from '../support/builders.ts';

export const incident = 'recovery/train/llm/0b1c/2026-11-21T07:09:03.117Z';

export const never = <T>(): Promise<T> => Promise.withResolvers<T>().promise;

/** A pod whose environment must never appear. */
export const podOf = (rank: number, more: V1Pod['status'] = {}): V1Pod => ({
  metadata: { name: `llm-${rank}`, namespace: 'train', uid: `uid-${rank}`, annotations: { note: 'ENV-VALUE' } },
  spec: {
    nodeName: `gpu-${rank}`,
    containers: [{ name: 'pytorch', env: [{ name: 'PASSWORD', value: 'ENV-VALUE' }], args: ['--key', 'ENV-VALUE'] }],
  },
  status: {
    phase: 'Running',
    containerStatuses: [
      {
        name: 'pytorch',
        image: 'train:1',
        imageID: '',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: new Date(0) } },
      },
    ],
    ...more,
  },
});

export class FakeEvidenceSource implements EvidenceSource {
  jobObject: KubernetesObject & { status?: unknown; spec?: unknown } = {
    apiVersion: 'kubeflow.org/v1',
    kind: 'PyTorchJob',
    metadata: {
      name: 'llm',
      namespace: 'train',
      uid: job.uid,
      annotations: { 'kcover.io/step': '1200', note: 'ENV-VALUE' },
    },
    spec: { env: 'ENV-VALUE' },
    status: { conditions: [{ type: 'Running' }] },
  };
  present: V1Pod[];
  readonly asked: string[] = [];

  constructor(ranks = 4) {
    this.present = Array.from({ length: ranks }, (_, rank) => podOf(rank));
  }

  job = (): Promise<KubernetesObject | undefined> => Promise.resolve(this.jobObject);
  node = (name: string): Promise<V1Node | undefined> =>
    Promise.resolve({
      metadata: { name, uid: `uid-${name}` },
      spec: { taints: [{ key: 'kcover.io/quarantine', effect: 'NoSchedule' }] },
      status: { conditions: [] },
    });
  pods = (): Promise<readonly V1Pod[]> => Promise.resolve(this.present);
  events: EvidenceSource['events'] = () => Promise.resolve({ of: new Map(), more: false });
  text: EvidenceSource['log'] = (pod, { previous }) => Promise.resolve(`${pod} ${previous ? 'died' : 'trains'}\n`);
  log: EvidenceSource['log'] = (pod, log, bounds) => {
    this.asked.push(`${pod}${log.previous ? ' before' : ''}`);
    return this.text(pod, log, bounds);
  };

  request(more: Partial<EvidenceRequest> = {}): EvidenceRequest {
    const pods = this.present.map(({ metadata, spec }) => ({
      name: metadata?.name ?? '',
      uid: metadata?.uid ?? '',
      node: spec?.nodeName ?? '',
    }));
    return { incident, attempt: 1, job, pods, nodes: ['gpu-3'], deadlineMs: 20_000, ...more };
  }
}

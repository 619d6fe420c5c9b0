import { describe, expect, it } from '@jest/globals';
import { keptJob } from '../../controller/watch/jobs.ts';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';

/** One that a tenant fills with this much text, in every place that the API server allows. */
function jobOf(length: number) {
  const text = 'x'.repeat(length);
  const annotations = {
    'kcover.io/mode': text,
    'kcover.io/log-step': text,
    'kcover.io/restart-answers': text,
    other: text,
  };
  const container = { name: 'main', image: 'trainer', args: [text], env: [{ name: 'A', value: text }] };
  const template = { metadata: { annotations }, spec: { containers: [container] } };
  const replica = { replicas: 2, template };
  return {
    metadata: {
      name: 'llm',
      namespace: 'train',
      uid: 'uid-1',
      resourceVersion: '7',
      annotations,
      managedFields: [{ manager: text }],
    },
    spec: {
      template,
      pytorchReplicaSpecs: { Master: replica },
      replicatedJobs: [{ name: 'ranks', replicas: 1, template: { spec: { template } } }],
      rayClusterSpec: { headGroupSpec: { template } },
    },
    status: { conditions: [{ type: 'Failed', status: 'True', reason: text, message: text }] },
  };
}

describe('what the controller keeps of a job', () => {
  it.each(Object.keys(jobKinds) as (keyof typeof jobKinds)[])('does not grow with the text in a %s', (kind) => {
    const kept = keptJob(jobKinds[kind], jobOf(200_000), { key: 'kcover.io/quarantine', effect: 'NoSchedule' });
    expect(kept.job?.ref).toEqual({ kind, namespace: 'train', name: 'llm', uid: 'uid-1' });
    expect(JSON.stringify(kept).length).toBeLessThan(10_000);
  });
});

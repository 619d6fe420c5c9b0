/** Lines of pods. What is told apart here is told apart by names, UIDs and times alone: what a line says is never read. */

import { describe, expect, it } from '@jest/globals';
import { controllerSettings } from '../../../contract/settings/settings.schema.ts';
import type { LokiLine } from '../../../controller/loki/answer.ts';
import { type PodNamed, podLineOf } from '../../../controller/loki/pod-lines.ts';
import type { TrainingPod } from '../../../kube/pods/training-pods.ts';
import { ns, rigOf, start } from './rig.ts';

const job = { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job-uid' } as const;
const pod = (name: string, more: Partial<TrainingPod> = {}): TrainingPod => ({
  name,
  uid: `uid-of-${name}`,
  container: 'pytorch',
  job,
  workload: 'llm',
  createdAt: new Date(start).toISOString(),
  startedAt: new Date(start + 5000).toISOString(),
  place: { rank: 0 },
  node: 'gpu-1',
  present: true,
  ...more,
});
const pods = [
  pod('llm-worker-0'),
  pod('llm-worker-1'),
  pod('other-0', { job: { ...job, name: 'other', uid: 'other' } }),
];
const podNamed: PodNamed = (namespace, name) => {
  const found = pods.find((each) => each.name === name && each.job.namespace === namespace);
  return found && { pod: found, optedIn: found.job.name === 'llm' };
};

const queryOf = (more: object = {}) => {
  const [query] = controllerSettings.parse({
    loki: { url: 'http://loki', podQueries: [{ name: 'nccl', query: '{a="b"}', ...more }] },
  }).loki.podQueries;
  if (!query) throw new Error('there is no query');
  return query;
};
const restarting = { restart: true, trusted: true };

const line = (ms: number, labels: Readonly<Record<string, string>> = {}): LokiLine => ({
  at: ns(start + ms),
  text: 'ncclInternalError: password=hunter2',
  labels: { k8s_namespace_name: 'train', k8s_pod_name: 'llm-worker-0', ...labels },
});

describe('a line of a pod', () => {
  it('is a fault of its job, with the name of the query and without its text', () => {
    expect(podLineOf(line(6000), queryOf(restarting), podNamed)).toEqual({
      kind: 'fault',
      to: { kind: 'job', job },
      fault: {
        id: 'pod-log/nccl/uid-of-llm-worker-0',
        source: 'pod-log',
        code: 'pod-log/nccl',
        message: 'the query nccl of Loki selects a line of llm-worker-0',
        seenAt: '2026-11-21T07:00:06.000Z',
        node: 'gpu-1',
        pod: { name: 'llm-worker-0', uid: 'uid-of-llm-worker-0', createdAt: '2026-11-21T07:00:00.000Z' },
        action: 'restart-app',
      },
    });
  });

  it.each<[string, LokiLine]>([
    ['no-pod', line(6000, { k8s_pod_name: 'llm-worker-9' })],
    ['no-pod', line(6000, { k8s_namespace_name: 'victim' })],
    ['no-pod', { ...line(6000), labels: {} }],
    ['no-pod', line(6000, { k8s_namespace_name: '../train', k8s_pod_name: '__proto__' })],
    ['other-pod', line(6000, { k8s_pod_uid: 'uid-of-an-earlier-one' })],
    ['other-pod', line(3000)],
    ['not-opted-in', line(6000, { k8s_pod_name: 'other-0' })],
  ])('is %s, and nothing follows', (kind, each) => {
    expect(podLineOf(each, queryOf(restarting), podNamed)).toEqual({ kind });
  });

  it('counts for the pod of its UID, whatever the clock of the shipper', () => {
    expect(podLineOf(line(-3_600_000, { k8s_pod_uid: 'uid-of-llm-worker-0' }), queryOf(), podNamed).kind).toBe('fault');
  });

  it('is one fault an hour for the whole job, where it only leads to an Event', () => {
    const idOf = (ms: number, name: string) => {
      const result = podLineOf(line(ms, { k8s_pod_name: name }), queryOf(), podNamed);
      return result.kind === 'fault' ? [result.fault.id, result.fault.action] : [];
    };
    const first = idOf(6000, 'llm-worker-0');
    expect(first).toEqual([expect.stringMatching(/^pod-log\/nccl\/job-uid\/\d+$/), undefined]);
    expect(idOf(60_000, 'llm-worker-1')).toEqual(first);
    expect(idOf(3_660_000, 'llm-worker-0')).not.toEqual(first);
  });
});

describe('lines of pods in Loki', () => {
  it('are each sent once, however often they are read and however many a pod writes', async () => {
    const stored = [6000, 6500, 7000, 8000].flatMap((ms) =>
      ['llm-worker-0', 'llm-worker-1', 'other-0'].map((name) => line(ms, { k8s_pod_name: name })),
    );
    const rig = rigOf(({ start: from, end }) => Promise.resolve(stored.filter(({ at }) => at >= from && at < end)));
    const query = queryOf(restarting);
    const open = () => rig.open({ name: query.name, resultOf: (each) => podLineOf(each, query, podNamed) });
    for (const ms of [0, 17_000, 30_000, 60_000]) {
      rig.now = start + ms;
      // Each time another controller, which knows only what was stored.
      await open().poll();
    }
    expect(rig.sent.map(({ id }) => id)).toEqual([
      'pod-log/nccl/uid-of-llm-worker-0',
      'pod-log/nccl/uid-of-llm-worker-1',
    ]);
    expect(JSON.stringify([rig.sent, rig.logged])).not.toContain('hunter2');
  });
});

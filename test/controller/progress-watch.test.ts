import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import pino from 'pino';
import { Registry } from 'prom-client';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { LogReport } from '../../contract/progress/logs.ts';
import type { Pace, ProgressFile } from '../../contract/progress/progress.ts';
import { faultMessage, jobEndMessage, type WorkflowMessage, recoverMessage } from '../../controller/outbox/messages.ts';
import { controllerMetrics } from '../../controller/metrics.ts';
import { type ProgressWatch, watchProgress } from '../../controller/progress/watch.ts';
import { isSameJob } from '../../kube/jobs/kinds/index.ts';
import type { KnownJob } from '../../controller/watch/known-jobs.ts';
import { until } from '../agent/until.ts';

const ref: JobRef = { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job-uid' };
const job: KnownJob = {
  ref,
  optedIn: true,
  optedInAt: '2026-11-21T06:00:00Z',
  restartPolicy: 'OnFailure',
  podsExpected: 3,
  toleratesQuarantine: false,
  canStopBy: ['suspend'],
  resourceVersion: '1',
  wantsRecovery: false,
  succeedsWith: { role: 'master' },
};

const pod = (role: string, index: number, node: string, phase = 'Running'): V1Pod => ({
  metadata: {
    name: `llm-${role}-${index}`,
    namespace: 'train',
    uid: `${role}-${index}`,
    creationTimestamp: '2026-11-21T06:59:00Z' as never,
    labels: {
      'training.kubeflow.org/job-name': 'llm',
      'training.kubeflow.org/replica-type': role,
      'training.kubeflow.org/replica-index': String(index),
    },
    ownerReferences: [
      { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name: 'llm', uid: ref.uid, controller: true },
    ],
  },
  spec: { containers: [], nodeName: node },
  status: {
    phase,
    containerStatuses: [
      {
        name: 'pytorch',
        image: 'i',
        imageID: 'i',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: '2026-11-21T07:00:00Z' as never } },
      },
    ],
  },
});
const file = (rank: number, step: number): ProgressFile => ({
  namespace: 'train',
  job: 'llm',
  rank,
  writtenAt: '2026-11-21T07:01:00.000Z',
  progress: { step, at: '2026-11-21T07:01:00.000Z' },
});
/** A step of rank 0 that was done in this second of the training. */
const ended = (step: number, second: number): ProgressFile => {
  const at = new Date(Date.parse('2026-11-21T07:01:00Z') + second * 1000).toISOString();
  return { ...file(0, step), writtenAt: at, progress: { step, at } };
};
const fault = { id: 'f', source: 'kernel', code: 'xid/79', message: 'gone', seenAt: '2026-11-21T07:02:00Z' } as const;

let over: AbortController;
let written: number[];
let paces: (Pace | undefined)[];
let isLive: boolean;
let raised: string[];
let suspects: readonly string[] | undefined;
let answered: object[];
let known: KnownJob | undefined;
let progress: ProgressWatch;
let registry: Registry;

beforeEach(() => {
  [over, written, isLive, raised, known, registry] = [new AbortController(), [], true, [], job, new Registry()];
  paces = [];
  answered = [];
  progress = watchProgress({
    async write(_job, { step, pace }) {
      written.push(step);
      paces.push(pace);
      return true;
    },
    async writeAnswers(_job, id, answers) {
      answered.push({ id, ...answers });
      return true;
    },
    everyMs: 3600_000,
    logDefaults: { format: 'auto' },
    hang: {
      settings: { times: 1, leastMs: 10, witnesses: 2 },
      isLive: () => isLive,
      raise(owner, raisedFault) {
        raised.push(`${owner.uid} ${raisedFault.code}`);
        suspects = raisedFault.suspects?.map((each) => `${each.pod} on ${each.node}`);
      },
    },
    slow: { times: 1.3, forMs: 60_000 },
    job: (asked) => (known && isSameJob(asked, known.ref) ? known : undefined),
    metrics: controllerMetrics(registry, {
      leading: () => true,
      messagesWaiting: () => 0,
      agentsLive: () => 0,

      agentsSilent: () => [],
      quarantines: () => new Map(),
    }),
    log: pino({ level: 'silent' }),
    signal: over.signal,
  });
  for (const object of [pod('master', 0, 'gpu-1'), pod('worker', 0, 'gpu-2'), pod('worker', 1, 'gpu-1')])
    progress.see({ type: 'added', object });
});
afterEach(() => over.abort());

describe('progress of training', () => {
  it('is taken from the rank that its file names, on the node where that runs', () => {
    expect(progress.take(file(0, 1), 'gpu-1')).toBe('counted');
    expect(progress.take(file(1, 1), 'gpu-2')).toBe('counted');
    expect(progress.take(file(2, 1), 'gpu-1')).toBe('counted');
    expect(progress.take(file(1, 1), 'gpu-1')).toBe('no-pod');
    expect(progress.take(file(3, 1), 'gpu-1')).toBe('no-pod');
    expect(progress.take({ ...file(0, 1), namespace: 'other' }, 'gpu-1')).toBe('no-pod');
    expect(progress.take({ ...file(0, 1), job: 'other' }, 'gpu-1')).toBe('no-pod');
  });

  it('is taken from a pod that reports its own step, and from no other pod', async () => {
    expect(progress.takeStep('worker-0', 12)).toBe('counted');
    expect(progress.takeStep('worker-9', 99)).toBe('no-pod');
    await until(() => written.length > 0);
    expect(written).toEqual([12]);
    progress.see({ type: 'modified', object: pod('worker', 0, 'gpu-2', 'Failed') });
    progress.see({ type: 'added', object: pod('worker', 2, 'gpu-3') });
    expect(progress.takeStep('worker-0', 13)).toBe('no-pod');
  });

  it('includes whether the processes of a pod shall restart it, and what they answer', async () => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();
    const asked = { id: 'i#1', reason: 'exit code 1', askedAt: at(-1000), deadline: at(60_000) };
    known = { ...job, restart: asked };
    expect(progress.restartOf('worker-0')).toEqual({ id: 'i#1', reason: 'exit code 1', deadline: asked.deadline });
    expect(progress.restartOf('another')).toBeUndefined();
    expect(await progress.answerRestart('worker-0', { id: 'i#1', status: 'accepted' })).toBe(true);
    expect(answered).toEqual([{ id: 'i#1', accepted: [1], done: [] }]);
    progress.see({ type: 'modified', object: pod('worker', 0, 'gpu-2', 'Failed') });
    progress.see({ type: 'added', object: pod('worker', 2, 'gpu-3') });
    expect(progress.restartOf('worker-0')).toBeUndefined();
  });

  it('cannot be of a worker while it is unknown whether there is a master beside it', () => {
    known = undefined;
    expect(progress.take(file(1, 1), 'gpu-2')).toBe('no-pod');
  });

  it('is taken of a pod that went a moment ago, and no longer when a later one has begun', () => {
    progress.see({ type: 'modified', object: pod('worker', 0, 'gpu-2', 'Failed') });
    expect(progress.take(file(1, 1), 'gpu-2')).toBe('counted');
    progress.see({ type: 'deleted', object: pod('master', 0, 'gpu-1') });
    expect(progress.take(file(0, 1), 'gpu-1')).toBe('counted');
    progress.see({ type: 'added', object: pod('worker', 2, 'gpu-3') });
    expect(progress.take(file(0, 2), 'gpu-1')).toBe('no-pod');
  });

  it('is not taken of a pod that names the job of another namespace, or another job, as its owner', async () => {
    const rank = (namespace: string, name: string, node: string): V1Pod => {
      const { metadata, ...rest } = pod('master', 0, node);
      const ownerReferences = metadata?.ownerReferences?.map((owner) => ({ ...owner, name })) ?? [];
      return { ...rest, metadata: { ...metadata, namespace, uid: node, ownerReferences } };
    };
    progress.see({ type: 'added', object: rank('other', 'llm', 'gpu-8') });
    progress.see({ type: 'added', object: rank('train', 'mine', 'gpu-9') });
    expect(progress.take({ ...file(0, 99), namespace: 'other' }, 'gpu-8')).toBe('no-pod');
    expect(progress.take(file(0, 99), 'gpu-9')).toBe('no-pod');
    progress.take(file(0, 1), 'gpu-1');
    await until(() => written.length > 0);
    expect(written).toEqual([1]);
  });

  const logs = (pod: string, more: Partial<LogReport> = {}) => [
    { pod, at: '2026-11-21T07:01:00.000Z', step: 7, stepAt: '2026-11-21T07:01:00.000Z', ...more },
  ];

  it('is taken from a log, only of a pod on the node of the agent, and of its present container', async () => {
    expect(progress.wantedLogs('gpu-1').map(({ pod: name }) => name)).toEqual(['llm-master-0', 'llm-worker-1']);
    expect(progress.wantedLogs('gpu-2')).toEqual([]);
    expect(progress.takeLogs({ node: 'gpu-2', read: [], logs: logs('worker-1') })).toEqual(['no-pod']);
    const before = { at: '2026-11-21T06:59:00.000Z' };
    expect(progress.takeLogs({ node: 'gpu-1', read: [], logs: logs('worker-1', before) })).toEqual(['stale']);
    expect(progress.takeLogs({ node: 'gpu-1', read: ['worker-1'], logs: logs('worker-1') })).toEqual(['counted']);
    await until(() => written.length > 0);
    expect(written).toEqual([7]);
  });

  it('is taken from a file rather than from a log, whatever the ranks', () => {
    expect(progress.takeLogs({ node: 'gpu-1', read: [], logs: logs('master-0') })).toEqual(['counted']);
    expect(progress.take(file(1, 20), 'gpu-2')).toBe('counted');
    expect(progress.takeLogs({ node: 'gpu-1', read: [], logs: logs('master-0') })).toEqual(['not-asked']);
    expect(progress.wantedLogs('gpu-1')).toEqual([]);
  });

  it('of which only the log says that it stands still is not reported as a hang without a watchdog', async () => {
    const read = ['master-0', 'worker-1'];
    progress.takeLogs({ node: 'gpu-1', read, logs: logs('worker-1') });
    await until(() => raised.length > 0);
    expect(raised).toEqual(['job-uid progress/no-step']);
    const watchdogs = [{ at: '2026-11-21T07:02:00.000Z', what: 'timeout', rank: 1 } as const];
    progress.takeLogs({
      node: 'gpu-1',
      read,
      logs: [{ pod: 'master-0', at: '2026-11-21T07:02:00.000Z', watchdogs }],
    });
    await until(() => raised.length > 1);
    expect(raised[1]).toBe('job-uid progress/hang');
  });

  it('that stands still is reported once, to its job', async () => {
    progress.take(file(0, 1), 'gpu-1');
    await until(() => raised.length > 0);
    progress.take(file(0, 2), 'gpu-1');
    await until(() => raised.length > 1);
    expect(raised).toEqual(['job-uid progress/hang', 'job-uid progress/hang']);
    expect(await registry.getSingleMetricAsString('kcover_training_hangs_total')).toMatch(/ 2$/m);
  });

  it('that becomes slower is reported to its job, and noted on it', async () => {
    for (let step = 1, second = 1; step <= 80; step++, second += step <= 40 ? 1 : 2)
      progress.take(ended(step, second), 'gpu-1');
    expect(raised).toEqual(['job-uid progress/slow']);
    expect(await registry.getSingleMetricAsString('kcover_training_slowdowns_total')).toMatch(/ 1$/m);
    progress.take(ended(81, 122), 'gpu-1');
    progress.onMessage(faultMessage({ kind: 'job', job: ref }, fault));
    await until(() => paces.some((pace) => pace?.slow !== undefined));
  });

  it('that becomes slower has a suspect where its log names the slowest rank and all pods have as many GPUs', () => {
    const resources = { limits: { 'nvidia.com/gpu': '8' } };
    for (const object of [pod('master', 0, 'gpu-1'), pod('worker', 0, 'gpu-2'), pod('worker', 1, 'gpu-3')])
      progress.see({
        type: 'modified',
        object: { ...object, spec: { ...object.spec, containers: [{ name: 'pytorch', resources }] } },
      });
    for (let step = 1, second = 1; step <= 80; step++, second += step <= 40 ? 1 : 2) {
      const { at } = ended(step, second).progress;
      const said = { pod: 'master-0', at, step, stepAt: at, straggler: { at, rank: 17, reports: step } };
      progress.takeLogs({ node: 'gpu-1', read: ['master-0'], logs: [said] });
    }
    expect(raised).toEqual(['job-uid progress/slow']);
    expect(suspects).toEqual(['llm-worker-1 on gpu-3']);
  });

  it.each<[sentence: string, message: WorkflowMessage]>([
    ['a fault of the job', faultMessage({ kind: 'job', job: ref }, fault)],
    ['a fault of a node under it', faultMessage({ kind: 'node', node: 'gpu-2' }, fault)],
    ['a request', recoverMessage(ref, { label: true, by: 'label', reason: 'labelled' })],
  ])('is written at once when %s is reported, though its pods may have ended', async (_sentence, message) => {
    progress.take(file(0, 1), 'gpu-1');
    await until(() => written.length === 1);
    progress.take(file(0, 2), 'gpu-1');
    progress.onMessage(jobEndMessage('job/train/llm/job-uid', { change: 'opted-out', because: 'x' }));
    progress.onMessage(faultMessage({ kind: 'node', node: 'gpu-9' }, fault));
    for (const object of [pod('master', 0, 'gpu-1', 'Failed'), pod('worker', 0, 'gpu-2', 'Failed')])
      progress.see({ type: 'modified', object });
    expect(written).toEqual([1]);
    progress.onMessage(message);
    await until(() => written.length === 2);
    expect(written).toEqual([1, 2]);
  });

  it('counts implausible values', async () => {
    progress.take(file(0, 5), 'gpu-1');
    progress.take(file(0, 4), 'gpu-1');
    progress.take({ ...file(0, 6), progress: { step: 6, checkpointStep: 7, at: '2030-01-01T00:00:00.000Z' } }, 'gpu-1');
    const counted = await registry.getSingleMetricAsString('kcover_progress_odd_total');
    for (const what of ['step-back', 'checkpoint-ahead', 'clock']) expect(counted).toContain(`{what="${what}"} 1`);
  });
});

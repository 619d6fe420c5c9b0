import type { V1Pod } from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { annotations, jobWorkflowId, labels } from '../../contract/ids.ts';
import type { JobStatus } from '../../contract/job/training-job.ts';
import { signals } from '../../contract/wire/messages.ts';
import { merge } from '../../testbed/api.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { deletesOfPods, podDeleteCollections } from '../../testbed/audit.ts';
import { breakGpu, failContainer } from '../../testbed/failures.ts';
import { batchJob } from '../../testbed/job-manifests.ts';
import { until } from '../../testbed/until.ts';
import { suspendsOf, violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, optIn, quick, xid79 } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), { workflowBundle });
});
afterEach(() => live?.clear(), 120_000);
afterAll(() => live?.close(), 120_000);

/** The node under the last pod of the job, and that pod. */
function lastOf(job: LiveJob) {
  const [node, pod] = [job.nodes.at(-1), job.first.at(-1)];
  if (!node || !pod) throw new Error(`${job.name} has no pod on a node`);
  return { node, pod };
}

/** As under a kubelet with restart policy OnFailure: the container is restarted in the same pod, whose status keeps reporting the failure. */
const die = (pod: V1Pod): Promise<void> => failContainer(live.cluster.api, pod, { exitCode: 1, restart: true });
/** The kernel line alone may already have led to the stop. */
const dieUnlessStopped = (pod: V1Pod): Promise<void> => die(pod).catch(() => undefined);

const uidsNow = (job: LiveJob): string[] =>
  live.recorder
    .podsOf(job)
    .filter(({ gone }) => gone === undefined)
    .map(({ uid }) => uid)
    .toSorted();
const uidsAtFirst = (job: LiveJob): string[] => job.first.map(({ metadata }) => metadata?.uid ?? '').toSorted();

/** One incident with one stop of the whole first attempt, and all invariants. */
async function expectOneRecovery(job: LiveJob) {
  const records = await live.settled(job);
  const facts = await live.facts(job);
  expect(violations(facts)).toEqual([]);
  expect(records.map(({ outcome, stops }) => ({ outcome, stops: stops.length }))).toEqual([
    { outcome: 'restarted', stops: 1 },
  ]);
  const [record] = records;
  expect(record?.stops[0]?.pods.map(({ uid }) => uid).toSorted()).toEqual(uidsAtFirst(job));
  expect(record?.runningPods.map(({ uid }) => uid).toSorted()).toEqual(uidsNow(job));
  if (!record) throw new Error('no record');
  return { record, facts };
}

/** The job is left alone: observed for a while, because the absence of an action cannot be awaited. */
async function expectNothing(job: LiveJob, forMs = 1500) {
  await sleep(forMs);
  expect(uidsNow(job)).toEqual(uidsAtFirst(job));
  expect(live.records(job)).toEqual([]);
  expect((await live.writes(job.since)).filter(({ namespace }) => namespace === job.namespace)).toEqual([]);
}

describe('a GPU that falls off the bus', () => {
  it('opens one incident for the kernel line and the pod failure that follows it', async () => {
    const job = await live.pytorch();
    const { node, pod } = lastOf(job);
    await breakGpu(node, xid79);
    await dieUnlessStopped(pod);
    const { record } = await expectOneRecovery(job);
    expect(live.recorder.isQuarantined(node.name)).toBe(true);
    expect(record.faults.map(({ code }) => code)).toContain('xid/79');
  });

  it('is enough by itself, while all pods still look healthy', async () => {
    const job = await live.pytorch();
    const { node } = lastOf(job);
    await breakGpu(node, xid79);
    const { record } = await expectOneRecovery(job);
    expect(record.faults.map(({ code }) => code)).toEqual(['xid/79']);
    expect(live.recorder.isQuarantined(node.name)).toBe(true);
  });

  it('is one incident when two nodes of a job break at once, and no new pod runs on either', async () => {
    const job = await live.pytorch({ workers: 2 });
    const [first, second] = job.nodes;
    if (!first || !second) throw new Error('the job has no two nodes');
    await Promise.all([breakGpu(first, xid79), breakGpu(second, xid79)]);
    await Promise.all([live.quarantined(first), live.quarantined(second)]);
    const records = await live.settled(job);
    expect(records.map(({ outcome }) => outcome)).toEqual(['restarted']);
    // The second line may come after the first stop: then the new attempt is stopped only if it runs on the second node.
    expect(records[0]?.stops.length).toBeLessThanOrEqual(2);
    expect(violations(await live.facts(job))).toEqual([]);
    expect(
      live.recorder
        .podsOf(job)
        .filter(({ gone, node }) => gone === undefined && [first.name, second.name].includes(node ?? '')),
    ).toEqual([]);
  });

  it('leaves other jobs alone: one elsewhere, and one on the bad node that never opted in', async () => {
    const job = await live.pytorch({ gpus: 5 });
    const { node } = lastOf(job);
    const elsewhere = await live.pytorch();
    const stranger = await live.pytorch({ gpus: 1, labels: {}, nodeSelector: { 'kubernetes.io/hostname': node.name } });
    await breakGpu(node, xid79);
    await expectOneRecovery(job);
    await expectNothing(elsewhere, 0);
    await expectNothing(stranger, 0);
  });
});

describe('a kernel line that comes after the pod failure that it explains', () => {
  // Longer than a busy machine needs to replace a pod. No test waits for its end, because the kernel line ends the wait.
  beforeAll(() => live.kcover.reconfigure({ ...quick, recovery: { ...quick.recovery, correlation: '90s' } }));
  afterAll(() => live?.kcover.reconfigure(quick));

  const awaitPodFailure = (job: LiveJob) =>
    until('a pod failure that waits for what may explain it', 30_000, async () => {
      const { phase, because } = await live.status(job);
      return phase === 'waiting' ? { found: true } : { missing: `${phase}: ${because}` };
    });
  async function expectBlamedOnHardware(job: LiveJob) {
    const [record] = await live.settled(job);
    expect(record?.faults.map(({ code }) => code).toSorted()).toEqual(['pod/exit', 'xid/79']);
    expect(record?.decisions.find(({ kind }) => kind === 'stop')?.blame).toBe('hardware');
    expect(violations(await live.facts(job))).toEqual([]);
  }

  it('opens no second incident, and the recovery blames the hardware', async () => {
    const job = await live.pytorch();
    const { node, pod } = lastOf(job);
    await die(pod);
    await awaitPodFailure(job);
    await breakGpu(node, xid79);
    await expectOneRecovery(job);
    await expectBlamedOnHardware(job);
    expect(live.recorder.isQuarantined(node.name)).toBe(true);
  });

  it('explains it also when the controller of the job has already replaced the pod on another node', async () => {
    const job = await live.pytorch();
    const { node, pod } = lastOf(job);
    const cordon = (unschedulable: boolean) =>
      live.cluster.api.core.patchNode({ name: node.name, body: { spec: { unschedulable } } }, merge);
    await cordon(true);
    try {
      await failContainer(live.cluster.api, pod, { exitCode: 1 });
      await until('a pod in place of the failed one', 60_000, async () => {
        const next = live.recorder
          .podsOf(job)
          .filter(({ name, gone }) => name === pod.metadata?.name && gone === undefined);
        return next.some(({ uid, node: on }) => uid !== pod.metadata?.uid && on !== undefined && on !== node.name)
          ? { found: true }
          : { missing: JSON.stringify(next) };
      });
      await awaitPodFailure(job);
      await breakGpu(node, xid79);
      await live.quarantined(node);
      await expectBlamedOnHardware(job);
    } finally {
      await cordon(false);
    }
  });
});

describe('a pod failure', () => {
  it('restarts the whole job and quarantines no node', async () => {
    const job = await live.pytorch({ workers: 2 });
    const since = new Date();
    await die(lastOf(job).pod);
    await expectOneRecovery(job);
    expect(job.nodes.filter(({ name }) => live.recorder.isQuarantined(name))).toEqual([]);
    expect((await live.writes(since)).filter(({ resource }) => resource === 'nodes')).toEqual([]);
  });

  it('is ignored when it occurred before the job opted in', async () => {
    const job = await live.pytorch({ labels: {} });
    const { pod } = lastOf(job);
    await die(pod);
    await sleep(2100); // Container times are whole seconds.
    await optInNow(job);
    await expectNothing(job, 2000);
    await die(lastOf(job).pod);
    const { record } = await expectOneRecovery(job);
    expect(record.faults).toHaveLength(1);
  });
});

describe('other kernel lines', () => {
  it('records an application error and quarantines no node', async () => {
    const job = await live.pytorch();
    const { node } = lastOf(job);
    await breakGpu(
      node,
      'NVRM: Xid (PCI:0000:5d:00): 13, pid=4242, name=python, Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address',
    );
    await live.event({ name: node.name, uid: node.uid }, 'FaultObserved', /xid\/13/);
    await expectNothing(job);
    expect(live.recorder.isQuarantined(node.name)).toBe(false);
  });

  it('keeps new pods off a node with an unknown code, and leaves its job alone', async () => {
    const job = await live.pytorch();
    const { node } = lastOf(job);
    await breakGpu(node, 'NVRM: Xid (PCI:0000:5d:00): 999, pid=4242, name=python, something new');
    const event = await live.event(
      { name: node.name, uid: node.uid },
      'FaultObserved',
      /xid\/999.*a person must decide/,
    );
    expect(event.type).toBe('Warning');
    await expectNothing(job);
    expect(live.recorder.isQuarantined(node.name)).toBe(true);
  });
});

describe('opting in', () => {
  it('counts on the pod template alone', async () => {
    const job = await live.pytorch({ labels: {}, podLabels: optIn });
    await breakGpu(lastOf(job).node, xid79);
    await expectOneRecovery(job);
  });

  it('warns about a job that tolerates the quarantine, and refuses to restart it onto the bad node', async () => {
    const job = await live.pytorch({ tolerations: [{ operator: 'Exists' }] });
    expect((await live.event(job, 'NotRecoverable')).type).toBe('Warning');
    const { node } = lastOf(job);
    await breakGpu(node, xid79);
    const records = await live.settled(job, { stays: true });
    expect(records.map(({ outcome, stops }) => ({ outcome, stops }))).toEqual([{ outcome: 'refused', stops: [] }]);
    const waited = await live.runCli('wait', ...named(job), '--for', 'recovered', '--since', '10m');
    expect(waited).toMatchObject({ code: 7, stdout: '', stderr: expect.stringContaining('because: refused: ') });
    expect((await live.event(job, 'RecoveryRefused')).type).toBe('Warning');
    expect(live.recorder.isQuarantined(node.name)).toBe(true);
    expect(uidsNow(job)).toEqual(uidsAtFirst(job));
    expect((await live.writes(job.since)).filter(({ namespace }) => namespace === job.namespace)).toEqual([]);
  });
});

describe('a person', () => {
  it('restarts a job by command', async () => {
    const job = await live.pytorch();
    const ran = await live.runCli('recover', ...named(job), '--reason', 'it hangs', '--output', 'json');
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const { record } = await expectOneRecovery(job);
    expect(record.incident).toBe((JSON.parse(ran.stdout) as { incident: string }).incident);
    expect(record.faults[0]?.message).toContain('it hangs');
  });

  it('waits for the recovery and watches it', async () => {
    const job = await live.pytorch();
    const isProtected = await live.runCli('wait', ...named(job), '--for', 'protected', '--timeout', '2m');
    expect(isProtected).toMatchObject({ code: 0, stderr: '' });
    const tooLate = await live.runCli('wait', ...named(job), '--for', 'recovered', '--timeout', '3s');
    expect(tooLate).toMatchObject({ code: 6, stderr: expect.stringContaining('because: no incident has ended since') });

    const view = live.startCli('status', ...named(job), '--watch', '--output', 'json');
    const shown = (): readonly Shown[] =>
      view
        .printed()
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Shown);
    await untilPrinted(view, '"change":"new"');
    const waiting = live.runCli('wait', ...named(job), '--for', 'recovered', '--since', '10m', '--output', 'json');
    await live.runCli('recover', ...named(job), '--reason', 'it hangs');
    const { record } = await expectOneRecovery(job);
    const waited = await waiting;
    expect({ ...waited, stdout: JSON.parse(waited.stdout) as unknown }).toMatchObject({
      code: 0,
      stderr: '',
      stdout: { condition: 'recovered', incident: record.incident },
    });
    await until('the end of the incident', 60_000, async () => {
      const { phase, last } = shown().at(-1)?.data ?? {};
      return phase === 'watching' && last?.incident === record.incident ? { found: true } : { missing: view.printed() };
    });
    view.signal('SIGINT');
    expect(await view.ended).toMatchObject({ code: 0, stderr: '' });
    expect(shown()[0]).toMatchObject({ change: 'new', data: { phase: 'watching' } });
    expect(
      shown()
        .slice(1)
        .map(({ change }) => change),
    ).not.toContain('new');
  });

  it('restarts a job by a signal to its workflow', async () => {
    const job = await live.pytorch();
    await until('workflow of the job', 60_000, async () =>
      (await live.status(job)).phase === 'watching' ? { found: true } : { missing: 'not watching yet' },
    );
    await live.temporal.workflow
      .getHandle(jobWorkflowId(job))
      .signal(signals.recover, { by: 'ada', reason: 'the switch was changed' });
    const { record } = await expectOneRecovery(job);
    expect(record.faults[0]?.message).toBe('ada asked: the switch was changed');
  });

  it('restarts a job by label, and the label is gone', async () => {
    const job = await live.pytorch();
    await setLabels(job, { [labels.needRecovery]: 'true' });
    await expectOneRecovery(job);
    expect((await readJob(job)).metadata.labels).toEqual(optIn);
  });

  it('releases a node and removes everything that kcover put on it', async () => {
    const job = await live.pytorch();
    const { node } = lastOf(job);
    await breakGpu(node, xid79);
    await expectOneRecovery(job);
    const views = [
      live.startCli('node', 'list', '--watch'),
      live.startCli('incidents', '--node', node.name, '--watch'),
    ] as const;
    await untilPrinted(views[0], `   ${node.name}   quarantined   xid-79   `);
    await untilPrinted(views[1], `   node ${node.name}   open   `);
    const ran = await live.runCli('node', 'release', node.name, '--reason', 'GPU replaced', '--output', 'json');
    expect({ ...ran, stdout: JSON.parse(ran.stdout) as object }).toMatchObject({
      code: 0,
      stdout: { node: node.name, outcome: 'released' },
    });
    await untilPrinted(views[0], `   ${node.name}   no longer listed\n`);
    await untilPrinted(views[1], `   node ${node.name}   released   `);
    for (const view of views) view.signal('SIGINT');
    for (const view of views) expect(await view.ended).toMatchObject({ code: 0, stderr: '' });
    const after = await live.cluster.api.core.readNode({ name: node.name });
    expect(after.spec?.taints ?? []).toEqual([]);
    expect(
      Object.keys(after.metadata?.annotations ?? {})
        .filter((key) => key.startsWith('kcover.io/'))
        .toSorted(),
    ).toEqual([annotations.faultHistory, annotations.judged, annotations.judgedState]);
  });
});

describe('kinds of jobs and ways to stop them', () => {
  it('recovers a batch Job by suspending it, without using its backoffLimit', async () => {
    const job = await live.run((namespace) => batchJob({ name: 'indexed', namespace, pods: 2, labels: optIn }));
    await breakGpu(lastOf(job).node, xid79);
    const { facts } = await expectOneRecovery(job);
    expect(suspendsOf(facts)).toHaveLength(1);
    const { status } = await live.cluster.api.batch.readNamespacedJob({ name: job.name, namespace: job.namespace });
    expect(status?.failed ?? 0).toBe(0);
  });

  it('stops a job once when its pods end slowly and with an error', async () => {
    const job = await live.pytorch({ workers: 2, terminationSeconds: 2, exitOnTerm: 143 });
    const { node, pod } = lastOf(job);
    await breakGpu(node, xid79);
    await dieUnlessStopped(pod);
    const { facts } = await expectOneRecovery(job);
    expect(suspendsOf(facts)).toHaveLength(1);
    await sleep(1500);
    expect(live.records(job)).toHaveLength(1);
  });

  it('stops by one delete-collection when the settings choose it', async () => {
    await live.kcover.reconfigure({
      recovery: { ...quick.recovery, stop: { PyTorchJob: 'delete-collection' } },
    });
    try {
      const job = await live.pytorch({ workers: 2, terminationSeconds: 1, exitOnTerm: 143 });
      await breakGpu(lastOf(job).node, xid79);
      const { record, facts } = await expectOneRecovery(job);
      expect(record.stops[0]?.by).toBe('delete-collection');
      expect(suspendsOf(facts)).toEqual([]);
      const collections = podDeleteCollections(facts.writes).filter(({ namespace }) => namespace === job.namespace);
      expect(collections.map(({ deleted }) => deleted.toSorted())).toEqual([uidsAtFirst(job)]);
      expect([...deletesOfPods(facts.writes).values()].filter((times) => times > 1)).toEqual([]);
    } finally {
      await live.kcover.reconfigure(quick);
    }
  });
});

describe('mode observe', () => {
  it('reports what it would do and writes nothing but Events', async () => {
    await live.kcover.reconfigure({ mode: 'observe' });
    try {
      const job = await live.pytorch();
      const { node, pod } = lastOf(job);
      const since = new Date();
      await breakGpu(node, xid79);
      await die(pod);
      await live.event({ name: node.name, uid: node.uid }, 'FaultObserved', /would quarantine/);
      await live.event(job, 'RecoveryRefused', /would stop 2 pods/);
      await sleep(1500);
      expect(await live.writes(since)).toEqual([]);
      expect(uidsNow(job)).toEqual(uidsAtFirst(job));
    } finally {
      await live.kcover.reconfigure({ mode: 'act' });
    }
  });
});

/** A document of `kcover status --watch`. */
interface Shown {
  readonly change: string;
  readonly data: Partial<JobStatus>;
}

const untilPrinted = (view: ReturnType<LiveKcover['startCli']>, text: string): Promise<boolean> =>
  until(text, 60_000, async () => (view.printed().includes(text) ? { found: true } : { missing: view.printed() }));

const named = ({ name, namespace }: LiveJob): readonly [string, string, string] => [
  `pytorchjob/${name}`,
  '-n',
  namespace,
];

interface LabelledObject {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}

const custom = (job: LiveJob) => ({
  group: 'kubeflow.org',
  version: 'v1',
  plural: 'pytorchjobs',
  namespace: job.namespace,
  name: job.name,
});
const readJob = async (job: LiveJob) =>
  (await live.cluster.api.custom.getNamespacedCustomObject(custom(job))) as LabelledObject;
const setLabels = (job: LiveJob, given: Readonly<Record<string, string>>) =>
  live.cluster.api.custom.patchNamespacedCustomObject({ ...custom(job), body: { metadata: { labels: given } } }, merge);
const optInNow = (job: LiveJob) => setLabels(job, optIn);

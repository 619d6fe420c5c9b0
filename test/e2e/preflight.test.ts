import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { annotations, eventReasons, preflightWorkflowId, quarantineTaintKey } from '../../contract/ids.ts';
import type { PreflightNote, PreflightStatus } from '../../contract/preflight/runs.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { awaitRunning, readJob } from '../../testbed/jobs.ts';
import { endTest, measured, testAgain, writeReport } from '../../testbed/preflight.ts';
import { passed, type RawReport } from '../../testbed/preflight-measures.ts';
import { suspendsOf, violations } from '../support/invariants.ts';
import { LiveKcover, optIn, quick } from '../support/live-kcover.ts';
import { LivePreflight, type TestedJob } from '../support/live-preflight.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;
let preflight: LivePreflight;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    workerSettings: quick,
    agentsOn: [],
  });
  preflight = new LivePreflight(live);
  await preflight.agents.watch(live.cluster.nodes);
});
afterEach(() => preflight?.clear(), 120_000);
afterAll(() => preflight?.close(), 120_000);

const namesOf = (judged: readonly { readonly node: string }[] | undefined): string[] =>
  (judged ?? []).map(({ node }) => node);
const uidsNow = (job: TestedJob): string[] =>
  live.recorder
    .podsOf(job)
    .filter(({ gone }) => gone === undefined)
    .map(({ uid }) => uid);
const uidsOf = ({ first }: TestedJob): string[] => first.map(({ metadata }) => metadata?.uid ?? '');
const received = (count: number) => (status: PreflightStatus) =>
  status.received === count ? undefined : `${status.received} reports, not ${count}`;

/** The tester of this rank, and its node. */
function at(job: TestedJob, rank: number) {
  const tester = job.testers[rank];
  if (!tester) throw new Error(`${job.name} has no rank ${rank}`);
  return tester;
}

async function noteOn(job: TestedJob): Promise<PreflightNote> {
  const { metadata } = (await readJob(live.cluster.api, job)) as { metadata: { annotations?: Record<string, string> } };
  return JSON.parse(metadata.annotations?.[annotations.preflight] ?? '{}') as PreflightNote;
}

describe('a slow node under a job that opted in', () => {
  it('is found from reports of passed and failed tests and quarantined once, and the job restarts without it', async () => {
    const job = await preflight.job({ pods: 8, labels: optIn });
    const { node: slow } = at(job, 5);
    const before = preflight.quarantines(slow);
    const reports = await preflight.end(job, { slow: [slow] });
    expect(new Set(reports.map(passed))).toEqual(new Set([true, false]));

    const first = await preflight.verdict(job);
    expect(first).toMatchObject({ run: 1, outcome: 'judged', received: 8, expected: 8 });
    expect(namesOf(first.verdict?.slow)).toEqual([slow]);
    await live.quarantined(preflight.nodeOf({ node: slow }));
    const { spec } = await live.cluster.api.core.readNode({ name: slow });
    expect(spec?.taints).toContainEqual(
      expect.objectContaining({ key: quarantineTaintKey, value: 'preflight-slow-node', effect: 'NoSchedule' }),
    );

    const next = await preflight.nextPods(job);
    expect(namesOf(next.testers)).not.toContain(slow);
    await preflight.end(next, { slow: [slow], seed: 2 });
    const second = await preflight.verdict(job, 2);
    expect(second).toMatchObject({
      run: 2,
      outcome: 'judged',
      received: 8,
      verdict: { counts: { slow: 0, failed: 0 } },
    });
    const records = await live.settled(job);
    expect(records.map(({ outcome, stops }) => ({ outcome, stops: stops.length }))).toEqual([
      { outcome: 'restarted', stops: 1 },
    ]);
    const facts = await live.facts(job);
    expect(violations(facts)).toEqual([]);
    expect(suspendsOf(facts)).toHaveLength(1);
    await live.event(job, eventReasons.preflightFailed, new RegExp(slow));
    await live.event(job, eventReasons.preflightPassed);
    expect(await noteOn(job)).toMatchObject({ run: 2, outcome: 'judged', slow: [], received: 8, expected: 8 });

    await live.release(preflight.nodeOf({ node: slow }));
    const { controller } = live.kcover;
    await controller.kill('SIGKILL');
    const killed = new Date();
    await controller.start();
    await preflight.agents.seenSince(killed);
    expect(await preflight.status(job)).toMatchObject({ run: 2, phase: 'waiting' });
    expect(live.recorder.isQuarantined(slow)).toBe(false);
    expect(preflight.quarantines(slow)).toBe(before + 1);
    expect(live.records(job)).toHaveLength(1);
  });
});

describe('several slow nodes under a job that opted in', () => {
  it('are quarantined by one verdict, and the job continues without any of them', async () => {
    const job = await preflight.job({ pods: 8, labels: optIn });
    const slow = [at(job, 2).node, at(job, 6).node];
    await preflight.end(job, { slow });
    expect(namesOf((await preflight.verdict(job)).verdict?.slow)).toEqual(slow);
    await Promise.all(slow.map((node) => live.quarantined(preflight.nodeOf({ node }))));

    const next = await preflight.nextPods(job);
    expect(namesOf(next.testers).filter((node) => slow.includes(node))).toEqual([]);
    await preflight.end(next, {}, []);
    await preflight.verdict(job, 2);
    const records = await live.settled(job);
    expect(records.map(({ outcome }) => outcome)).toEqual(['restarted']);
    // On a busy machine the report of the second node may arrive after the first stop.
    const suspends = suspendsOf(await live.facts(job)).length;
    expect([1, 2]).toContain(suspends);
    expect(records[0]?.stops).toHaveLength(suspends);
  });
});

describe('a job that did not opt in', () => {
  it('gets an Event about its slow node and is left alone, also when an agent uploads its report late', async () => {
    const job = await preflight.job({ pods: 6 });
    const { node: slow } = at(job, 2);
    const { node: late } = at(job, 4);
    await preflight.agents.leave(late);
    await preflight.end(job, { slow: [slow] });
    await preflight.is(job, received(5));
    await preflight.agents.watch(live.cluster.nodes);

    expect(namesOf((await preflight.verdict(job)).verdict?.slow)).toEqual([slow]);
    await live.quarantined(preflight.nodeOf({ node: slow }));
    await live.event(job, eventReasons.preflightFailed, new RegExp(`${slow}.*not opted in`));
    expect((await noteOn(job)).slow).toEqual([slow]);
    expect(new Set(uidsNow(job))).toEqual(new Set(uidsOf(job)));
    expect(live.records(job)).toEqual([]);
  });

  it('has its broken node quarantined before the others have reported', async () => {
    const job = await preflight.job({ pods: 6 });
    const { node: broken } = at(job, 3);
    const before = preflight.quarantines(broken);
    const truth = { failed: { [broken]: 'gpu' } } as const;
    await preflight.end(job, truth, [0, 1, 2, 4, 5]);
    await live.quarantined(preflight.nodeOf({ node: broken }));
    expect(await preflight.status(job)).toMatchObject({ phase: 'collecting', received: 1, expected: 6 });

    await preflight.end(job, truth, [3]);
    const { outcome, verdict } = await preflight.verdict(job);
    expect({ outcome, failed: namesOf(verdict?.failed), slow: verdict?.slow }).toEqual({
      outcome: 'judged',
      failed: [broken],
      slow: [],
    });
    expect(preflight.quarantines(broken)).toBe(before + 1);
  });

  it('has invalid reports refused with an Event, and its collection continues', async () => {
    const job = await preflight.job({ pods: 6 });
    const [zero, one, two, three] = measured(job, job.testers) as [RawReport, RawReport, RawReport, RawReport];
    const forged = [
      { rank: 0, text: JSON.stringify({ ...zero, node_name: at(job, 1).node }), what: 'other-node' },
      { rank: 1, text: JSON.stringify({ ...one, rank: 3 }), what: 'other-rank' },
      { rank: 2, text: JSON.stringify({ ...two, workload: 'x'.repeat(2 * 1024 * 1024) }), what: 'too-large' },
      { rank: 3, text: JSON.stringify(three).slice(0, -1), what: 'parse' },
    ];
    await preflight.end(job, {}, [0, 1, 2, 3]);
    for (const { rank, text } of forged) {
      await writeReport(job, at(job, rank), text);
      await endTest(live.cluster.api, at(job, rank), 1);
    }
    const { refused, received: so } = await preflight.is(job, (status) =>
      status.refused.length >= 4 ? received(2)(status) : `${status.refused.length} refused`,
    );
    expect(so).toBe(2);
    expect(refused.map(({ rank, what }) => ({ rank, what })).toSorted((a, b) => a.rank - b.rank)).toEqual(
      forged.map(({ rank, what }) => ({ rank, what })),
    );
    const counted = await live.kcover.metricsOf(live.kcover.controller);
    for (const { what } of forged)
      expect(counted).toMatch(new RegExp(`kcover_preflight_refused_total\\{[^}]*"${what}"[^}]*\\} [1-9]`));

    for (const { rank } of forged) await testAgain(live.cluster.api, at(job, rank));
    await preflight.end(job, {}, [4, 5]);
    expect(await preflight.verdict(job)).toMatchObject({
      outcome: 'judged',
      received: 6,
      verdict: { counts: { healthy: 6 } },
    });
    await awaitRunning(live.cluster.api, job);
  });
});

describe('a collection that stays incomplete', () => {
  it('ends with a warning that names the missing ranks, and with the verdict of the received reports', async () => {
    await live.kcover.reconfigure({ preflight: { collection: '30s' } });
    const job = await preflight.job({ pods: 8 });
    const { node: slow } = at(job, 1);
    await preflight.end(job, { slow: [slow] }, [6]);
    const { outcome, received: came, expected, verdict } = await preflight.verdict(job);
    expect({ outcome, came, expected }).toEqual({ outcome: 'expired', came: 7, expected: 8 });
    expect(verdict?.missing).toEqual([6]);
    expect(namesOf(verdict?.slow)).toEqual([slow]);
    await live.quarantined(preflight.nodeOf({ node: slow }));
    const { type, message } = await live.event(job, eventReasons.preflightIncomplete);
    expect(type).toBe('Warning');
    expect(message).toMatch(/7 of 8 reports.*\b6\b/);
    expect(await live.isOpen(preflightWorkflowId(job))).toBe(true);
  });
});

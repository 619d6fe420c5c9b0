import { condition, continueAsNew, defineQuery, defineSignal, setHandler, workflowInfo } from '@temporalio/workflow';
import type { Announcement } from '../contract/activities.ts';
import { eventReasons } from '../contract/ids.ts';
import type {
  JudgementRequest,
  PodsTesting,
  PreflightDecision,
  PreflightInput,
  PreflightNote,
  PreflightOutcome,
  PreflightRun,
  PreflightStatus,
  ReportsArrived,
} from '../contract/preflight.ts';
import { signals, statusQuery } from '../contract/messages.ts';
import { type Alarm, setAlarm } from './alarm.ts';
import { attributeWriter, iso, showDetails } from './attributes.ts';
import { type OpenRun, PreflightMemory } from './preflight-memory.ts';
import { announce, decideCollection, decidePreflight, perform, tolerate } from './proxies.ts';

/** How often somebody looks whether a workload is still there of which nothing is heard. */
const lookAfterMs = 24 * 60 * 60_000;

/** When a run must be over: two alarms, of which the first is set anew while reports come. */
interface Deadlines {
  readonly inactivityMs: number;
  inactive: Alarm;
  /** Reports that had arrived when it was set. */
  arrived: number;
  readonly absolute: Alarm;
  readonly endsAt: number;
}

/** Collects the preflight reports of one workload, run by run, and ends each run with one verdict. */
export async function preflight({ workload, carried }: PreflightInput): Promise<PreflightOutcome> {
  const memory = new PreflightMemory(carried);
  const write = attributeWriter();
  const title = `${workload.name} in ${workload.namespace}`;
  let status: Pick<PreflightStatus, 'phase' | 'because' | 'waitingFor' | 'since'> = {
    phase: 'waiting',
    because: 'no report yet',
    waitingFor: 'reports of preflight containers',
    since: iso(Date.now()),
  };
  let deadlines: Deadlines | undefined;
  let idle: Alarm | undefined;
  let gone = false;

  setHandler(defineSignal<[ReportsArrived]>(signals.reportsArrived), (payload) => memory.take(payload, Date.now()));
  setHandler(defineSignal<[PodsTesting]>(signals.podsTesting), (payload) => memory.expect(payload, Date.now()));
  setHandler(defineSignal(signals.podsGone), () => {
    gone = true;
  });
  setHandler(defineQuery<PreflightStatus>(statusQuery), () => ({
    workload,
    ...status,
    ...memory.progress(),
    ...(deadlines ? { until: iso(until(deadlines)) } : {}),
    ...(memory.last ? { last: memory.last } : {}),
    refused: memory.refused,
    dropped: memory.dropped,
  }));
  tell('waiting', status.because, status.waitingFor);

  for (;;) {
    const before = memory.open;
    memory.sort();
    const { open } = memory;
    if (open !== before) endDeadlines();
    if (open && memory.isComplete()) {
      await judge(open, 'complete');
      continue;
    }
    if (open && memory.cannotWait()) {
      await judge(open, 'part');
      continue;
    }
    if (gone || idle?.rang) {
      const ended = await look();
      if (ended) return ended;
      continue;
    }
    if (open) {
      deadlines ??= await setDeadlines(open);
      if (memory.hasWork()) continue;
      if (deadlines.absolute.rang || (deadlines.inactive.rang && deadlines.arrived === open.arrived)) {
        await judge(open, 'expired');
        continue;
      }
      if (deadlines.inactive.rang) waitAnew(open, deadlines);
      collecting(open);
    } else {
      // A run's reports would not fit into one payload, so a history may only be cut between two runs.
      if (workflowInfo().continueAsNewSuggested) return continueAsNew<typeof preflight>({ workload, carried: memory.carry() });
      idle ??= setAlarm(lookAfterMs, 'look whether the workload is still there');
      if (memory.last) tell('waiting', memory.last.because, 'the next run of its pods');
    }
    await condition(
      () =>
        memory.hasWork() ||
        gone ||
        memory.open !== open ||
        idle?.rang === true ||
        deadlines?.inactive.rang === true ||
        deadlines?.absolute.rang === true ||
        (memory.open === undefined && workflowInfo().continueAsNewSuggested),
    );
  }

  async function setDeadlines(open: OpenRun): Promise<Deadlines> {
    idle?.stop();
    idle = undefined;
    const { inactivityMs, deadlineMs } = await decideCollection({ size: open.size });
    return {
      inactivityMs,
      inactive: setAlarm(inactivityMs, `run ${open.run}: no report for so long`),
      arrived: open.arrived,
      absolute: setAlarm(deadlineMs, `run ${open.run}: not complete for so long`),
      endsAt: open.startedAt + deadlineMs,
    };
  }

  /** Reports came since it was set: the rest of the time since the last of them. */
  function waitAnew(open: OpenRun, current: Deadlines): void {
    current.inactive = setAlarm(open.lastAt + current.inactivityMs - Date.now(), `run ${open.run}: no report for so long`);
    current.arrived = open.arrived;
  }

  function endDeadlines(): void {
    deadlines?.inactive.stop();
    deadlines?.absolute.stop();
    deadlines = undefined;
  }

  function until({ inactivityMs, endsAt }: Deadlines): number {
    return Math.min(endsAt, (memory.open?.lastAt ?? endsAt) + inactivityMs);
  }

  /** One verdict: nodes are told first, for that is what keeps the next pods off them. */
  async function judge(open: OpenRun, evidence: JudgementRequest['evidence']): Promise<void> {
    tell('judging', `${open.reports.size} of ${open.size} reports`, 'the verdict');
    const decision = await decidePreflight({
      workload,
      run: open.run,
      size: open.size,
      reports: [...open.reports.values()].toSorted((a, b) => a.report.rank - b.report.rank),
      evidence,
      told: [...open.told],
    });
    const abnormal = [...decision.failed, ...decision.slow].map(({ node }) => node);
    if (abnormal.length > 0) write({ KcoverNode: abnormal.slice(0, 20), KcoverFault: decision.faults[0]?.code ?? 'preflight' });
    if (decision.faults.length > 0)
      await tolerate(perform('tellNodes', `tell ${abnormal.slice(0, 5).join(', ')}: ${decision.because}`, { faults: decision.faults }));
    for (const { report } of open.reports.values()) if (report.failed) open.told.add(report.node);
    const key = `${workflowInfo().workflowId}#${open.run}`;
    const follows = decision.faults.length > 0 ? await consequence() : '';
    if (evidence === 'part') {
      const message = `${decision.because}${follows}`;
      await announce({ about: about(open), type: 'Warning', reason: eventReasons.preflightFailed, message, key: `${key}/${open.told.size}` });
      return;
    }
    endDeadlines();
    const run = memory.close(evidence === 'complete' ? 'judged' : 'expired', decision.at, because(open, evidence, decision), decision);
    if (!run) return;
    write({ KcoverOutcome: outcomeOf(run) });
    if (workload.job) await tolerate(perform('noteVerdict', `leave the verdict on ${workload.job.name}`, { job: workload.job, note: noteOf(run) }));
    await announce({ about: about(open), ...voice(run), message: `${run.because}${follows}`, key });
  }

  /** For people: what became of the job is the business of its own workflow. */
  async function consequence(): Promise<string> {
    const seen = await tolerate(perform('observeWorkload', `is ${workload.name} opted in?`, { workload }));
    if (seen?.kind !== 'there') return '';
    return seen.optedIn
      ? '; the job is restarted whole once they are quarantined'
      : '; it is not opted in to cascading recovery, so its pods are left as they are';
  }

  /** Somebody says that no pod is left, or nothing was heard for long. */
  async function look(): Promise<PreflightOutcome | undefined> {
    gone = false;
    idle?.stop();
    idle = undefined;
    const seen = await tolerate(perform('observeWorkload', `is ${workload.name} still there?`, { workload }));
    if (seen === undefined || seen.kind === 'there') return undefined;
    if (memory.hasWork()) memory.sort();
    // What was seen of the nodes stays true without the job.
    if (memory.open) await judge(memory.open, memory.isComplete() ? 'complete' : 'expired');
    endDeadlines();
    tell('ended', seen.because, 'nothing');
    return { workload, outcome: seen.kind, because: seen.because, runs: memory.progress().run };
  }

  function collecting({ size, run, pod }: OpenRun): void {
    if (size === 0) return tell('collecting', `run ${run}: ${pod.name} tests, and no report has come`, 'reports of preflight containers');
    const { received, missing } = memory.progress();
    const ranks = missing.length > 10 ? `${missing.slice(0, 10).join(', ')}, ...` : missing.join(', ');
    tell('collecting', `run ${run}: ${received} of ${size} reports`, `ranks ${ranks}`);
  }

  function about({ pod }: OpenRun): Announcement['about'] {
    return workload.job ? { kind: 'job', job: workload.job } : { kind: 'pod', namespace: workload.namespace, ...pod };
  }

  function tell(phase: PreflightStatus['phase'], why: string, waitingFor: string): void {
    status = { phase, because: why, waitingFor, since: status.phase === phase ? status.since : iso(Date.now()) };
    write({ KcoverPhase: phase });
    const { last } = memory;
    showDetails(`preflight of ${title}: ${phase}`, [
      ['because', why],
      ['waiting for', waitingFor],
      ['until', deadlines && iso(until(deadlines))],
      ['last run', last && `${last.run}: ${last.outcome}, ${last.because}`],
      ...(last?.verdict ? [...last.verdict.failed, ...last.verdict.slow] : []).map(({ node, verdict, because: why }) => [`${verdict}: ${node}`, why] as const),
      ...memory.refused.slice(-5).map(({ rank, what, because: why }) => [`refused: rank ${rank}`, `${what}: ${why}`] as const),
    ]);
  }
}

function because({ reports, size }: OpenRun, evidence: JudgementRequest['evidence'], decision: PreflightDecision): string {
  if (evidence === 'complete') return decision.because;
  if (size === 0) return 'pods tested, and no report came';
  const { missing } = decision;
  const more = size - reports.size - missing.length;
  return `${reports.size} of ${size} reports came; ranks ${missing.join(', ')}${more > 0 ? ` and ${more} more` : ''} are missing; ${decision.because}`;
}

function outcomeOf({ outcome, verdict }: PreflightRun): string {
  if (verdict && verdict.failed.length + verdict.slow.length > 0) return 'abnormal';
  if (outcome === 'expired') return 'incomplete';
  return (verdict?.counts.undetermined ?? 0) > 0 ? 'undetermined' : 'healthy';
}

function voice(run: PreflightRun): Pick<Announcement, 'type' | 'reason'> {
  if (run.outcome === 'expired') return { type: 'Warning', reason: eventReasons.preflightIncomplete };
  const outcome = outcomeOf(run);
  if (outcome === 'abnormal') return { type: 'Warning', reason: eventReasons.preflightFailed };
  return { type: 'Normal', reason: outcome === 'healthy' ? eventReasons.preflightPassed : eventReasons.preflightUndetermined };
}

const noteOf = ({ run, endedAt, outcome, received, expected, verdict }: PreflightRun): PreflightNote => ({
  run,
  at: endedAt,
  outcome,
  received,
  expected,
  slow: (verdict?.slow ?? []).map(({ node }) => node),
  failed: (verdict?.failed ?? []).map(({ node }) => node),
  undetermined: verdict?.counts.undetermined ?? 0,
  confidence: verdict?.confidence ?? 0,
});

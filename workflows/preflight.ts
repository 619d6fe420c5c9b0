import { condition, continueAsNew, defineQuery, defineSignal, setHandler, sleep, workflowInfo } from '@temporalio/workflow';
import type { Announcement } from '../contract/activities.ts';
import type { Fault } from '../contract/faults.ts';
import { eventReasons } from '../contract/ids.ts';
import type { PreflightDecision } from '../contract/preflight.ts';
import type {
  PodsTesting,
  PreflightInput,
  PreflightNote,
  PreflightOutcome,
  PreflightRun,
  PreflightStatus,
  ReportsArrived,
} from '../contract/preflight-runs.ts';
import { signals, statusQuery } from '../contract/messages.ts';
import { type Timer, startTimer } from './timer.ts';
import { attributeWriter, iso, showDetails } from './attributes.ts';
import { named, type OpenRun, PreflightState, notNotified } from './preflight-state.ts';
import { announce, decideCollection, decidePreflight, perform, tolerate } from './proxies.ts';

/** How often a workload that sends nothing is checked for existence. */
const lookAfterMs = 24 * 60 * 60_000;

/** Tries to notify a node before it is left to people. */
const mostTries = 20;

/** When a run must be over: two timers, of which the first is restarted while reports come. */
interface Deadlines {
  readonly inactivityMs: number;
  inactive: Timer;
  /** Ranks that had reported when it was set. */
  reportsSeen: number;
  readonly absolute: Timer;
  readonly endsAt: number;
}

/** Collects the preflight reports of one workload, run by run, and ends each run with one verdict. */
export async function preflight({ workload, continued }: PreflightInput): Promise<PreflightOutcome> {
  const state = new PreflightState(continued);
  const write = attributeWriter();
  const title = `${workload.name} in ${workload.namespace}`;
  let status: Pick<PreflightStatus, 'phase' | 'because' | 'waitingFor' | 'since'> = {
    phase: 'waiting',
    because: 'no report yet',
    waitingFor: 'reports of preflight containers',
    since: iso(Date.now()),
  };
  let deadlines: Deadlines | undefined;
  let idle: Timer | undefined;
  let gone = false;
  let over: { readonly kind: PreflightOutcome['outcome']; readonly because: string } | undefined;

  setHandler(defineSignal<[ReportsArrived]>(signals.reportsArrived), (payload) => state.take(payload, Date.now()));
  setHandler(defineSignal<[PodsTesting]>(signals.podsTesting), (payload) => state.expect(payload, Date.now()));
  setHandler(defineSignal(signals.podsGone), () => {
    gone = true;
  });
  setHandler(defineQuery<PreflightStatus>(statusQuery), () => ({
    workload,
    ...status,
    ...state.progress(),
    ...(deadlines ? { until: iso(until(deadlines)) } : {}),
    ...(state.last ? { last: state.last } : {}),
    refused: state.refused,
    dropped: state.dropped,
  }));
  setStatus('waiting', status.because, status.waitingFor);

  for (;;) {
    const before = state.open;
    state.sort();
    const { open } = state;
    if (open !== before) endDeadlines();
    if (open && (state.isComplete() || state.superseded !== undefined)) {
      await judge(open, state.superseded === undefined ? 'complete' : 'superseded');
      continue;
    }
    if (open && state.cannotWait()) {
      await judge(open, 'part');
      continue;
    }
    if (gone || idle?.fired) {
      over = await look();
      continue;
    }
    if (over && !state.hasWork()) {
      // What was found about the nodes stays true without the job.
      if (!open) return end(over);
      await judge(open, 'expired');
      continue;
    }
    if (open) {
      deadlines ??= await setDeadlines(open);
      if (state.hasWork()) continue;
      if (deadlines.absolute.fired || (deadlines.inactive.fired && deadlines.reportsSeen === open.reports.size)) {
        await judge(open, 'expired');
        continue;
      }
      if (deadlines.inactive.fired) waitAnew(open, deadlines);
      collecting(open);
    } else {
      // A run's reports would not fit into one payload, so continue-as-new happens only between two runs.
      if (workflowInfo().continueAsNewSuggested) return continueAsNew<typeof preflight>({ workload, continued: state.continueAsNewState() });
      idle ??= startTimer(lookAfterMs, 'check whether the workload still exists');
      if (state.last) setStatus('waiting', state.last.because, 'the next run of its pods');
    }
    await condition(
      () =>
        state.hasWork() ||
        gone ||
        idle?.fired === true ||
        deadlines?.inactive.fired === true ||
        deadlines?.absolute.fired === true ||
        (state.open === undefined && workflowInfo().continueAsNewSuggested),
    );
  }

  async function setDeadlines(open: OpenRun): Promise<Deadlines> {
    idle?.stop();
    idle = undefined;
    const { inactivityMs, deadlineMs } = await decideCollection({ size: open.size });
    return {
      inactivityMs,
      inactive: startTimer(inactivityMs, `run ${open.run}: no report in time`),
      reportsSeen: open.reports.size,
      absolute: startTimer(deadlineMs, `run ${open.run}: not complete in time`),
      endsAt: open.startedAt + deadlineMs,
    };
  }

  /** Reports came since the timer was set: waits for the rest of the time after the last of them. */
  function waitAnew(open: OpenRun, current: Deadlines): void {
    current.inactive = startTimer(open.lastAt + current.inactivityMs - Date.now(), `run ${open.run}: no report in time`);
    current.reportsSeen = open.reports.size;
  }

  function endDeadlines(): void {
    deadlines?.inactive.stop();
    deadlines?.absolute.stop();
    deadlines = undefined;
  }

  function until({ inactivityMs, endsAt }: Deadlines): number {
    return Math.min(endsAt, (state.open?.lastAt ?? endsAt) + inactivityMs);
  }

  /** One verdict. Nodes are notified first, because that keeps the next pods off them. */
  async function judge(open: OpenRun, how: 'complete' | 'part' | 'expired' | 'superseded'): Promise<void> {
    setStatus('judging', `${open.reports.size} of ${open.size} reports`, 'the verdict');
    const reports = [...open.reports.values()].toSorted((a, b) => a.report.rank - b.report.rank);
    const request = { workload, run: open.run, size: open.size, reports, evidence: how === 'superseded' ? ('expired' as const) : how };
    let decision = await decidePreflight({ ...request, notified: [...open.notified] });
    const first = decision;
    const abnormal = [...first.failed, ...first.slow].map(({ node }) => node);
    if (abnormal.length > 0) write({ KcoverNode: abnormal.slice(0, 20), KcoverFault: first.faults[0]?.code ?? 'preflight' });
    for (; decision.faults.length > 0; decision = await decidePreflight({ ...request, notified: [...open.notified] })) {
      await notifyNodes(open, decision.faults, decision.because);
      for (const { node } of decision.faults) if (node !== undefined) open.notified.add(node);
      if (decision.left === 0) break;
    }
    const key = `${workflowInfo().workflowId}#${open.run}`;
    if (how === 'part') {
      for (const { report } of reports) open.looked.add(report.rank);
      if (first.failed.length === 0) return;
      const message = `${first.because}${notNotified(open)}`;
      await announce({ about: about(open), type: 'Warning', reason: eventReasons.preflightFailed, message, key: `${key}/${open.notified.size}` });
      return;
    }
    endDeadlines();
    const follows = first.acts && abnormal.length > 0 ? await consequence() : '';
    const outcome = how === 'complete' ? 'judged' : how;
    const run = state.close(outcome, first.at, because(open, state.superseded, first), first);
    if (!run) return;
    write({ KcoverOutcome: outcomeOf(run) });
    if (workload.job) await tolerate(perform('noteVerdict', `note the verdict on ${workload.job.name}`, { job: workload.job, note: noteOf(run) }));
    await announce({ about: about(open), ...eventKind(run), message: `${run.because}${follows}`, key });
  }

  /** Sends each fault until Temporal accepts it, and then no more: a node that a person has released meanwhile would be quarantined again. */
  async function notifyNodes({ unnotified }: OpenRun, faults: readonly Fault[], why: string): Promise<void> {
    let left = faults;
    let refusal = '';
    for (let tries = 1; left.length > 0 && tries <= mostTries; tries++) {
      const nodes = named(left.map(({ node = '' }) => node));
      if (tries > 1) {
        setStatus('judging', `${nodes} cannot be notified yet: ${refusal}`, `Temporal, after ${tries - 1} of ${mostTries} tries`);
        await sleep(Math.min(60_000, 1000 * 2 ** tries));
      }
      const answer = await tolerate(perform('notifyNodes', `notify ${nodes}: ${why}`, { faults: left }));
      const ids = new Set(answer ? answer.unnotified : left.map(({ id }) => id));
      left = left.filter(({ id }) => ids.has(id));
      refusal = answer?.because ?? 'Temporal did not accept it';
    }
    for (const { node } of left) if (node !== undefined) unnotified.set(node, refusal);
  }

  /** For people only: the job's own workflow decides what happens to the job, and nothing waits for this sentence. */
  async function consequence(): Promise<string> {
    const asked = tolerate(perform('observeWorkload', `is ${workload.name} opted in?`, { workload }));
    const seen = await Promise.race([asked, sleep(5000).then(() => undefined)]);
    if (seen?.kind !== 'there') return '';
    return seen.optedIn
      ? '; the job is restarted whole once they are quarantined'
      : '; it is not opted in to cascading recovery, so its pods are left as they are';
  }

  /** Checks the workload when no pod of it seems to be left, or nothing has arrived for long. */
  async function look(): Promise<typeof over> {
    gone = false;
    idle?.stop();
    idle = undefined;
    const seen = await tolerate(perform('observeWorkload', `is ${workload.name} still there?`, { workload }));
    return seen === undefined || seen.kind === 'there' ? undefined : seen;
  }

  function end({ kind, because: why }: NonNullable<typeof over>): PreflightOutcome {
    endDeadlines();
    setStatus('ended', why, 'nothing');
    return { workload, outcome: kind, because: why, runs: state.progress().run };
  }

  function collecting({ size, run, pod }: OpenRun): void {
    if (size === 0) return setStatus('collecting', `run ${run}: ${pod.name} tests, and no report has come`, 'reports of preflight containers');
    const { received, missing } = state.progress();
    const ranks = missing.length > 10 ? `${missing.slice(0, 10).join(', ')}, ...` : missing.join(', ');
    setStatus('collecting', `run ${run}: ${received} of ${size} reports`, `ranks ${ranks}`);
  }

  function about({ pod }: OpenRun): Announcement['about'] {
    return workload.job ? { kind: 'job', job: workload.job } : { kind: 'pod', namespace: workload.namespace, ...pod };
  }

  function setStatus(phase: PreflightStatus['phase'], why: string, waitingFor: string): void {
    status = { phase, because: why, waitingFor, since: status.phase === phase ? status.since : iso(Date.now()) };
    write({ KcoverPhase: phase });
    const { last } = state;
    showDetails(`preflight of ${title}: ${phase}`, [
      ['because', why],
      ['waiting for', waitingFor],
      ['until', deadlines && iso(until(deadlines))],
      ['last run', last && `${last.run}: ${last.outcome}, ${last.because}`],
      ...(last?.verdict ? [...last.verdict.failed, ...last.verdict.slow] : []).map(({ node, verdict, because: why }) => [`${verdict}: ${node}`, why] as const),
      ...state.refused.slice(-5).map(({ rank, what, because: why }) => [`refused: rank ${rank}`, `${what}: ${why}`] as const),
    ]);
  }
}

function because({ reports, size }: OpenRun, superseded: string | undefined, decision: PreflightDecision): string {
  if (size > 0 && reports.size >= size) return decision.because;
  const { missing } = decision;
  const more = size - reports.size - missing.length;
  const came =
    size === 0
      ? 'pods tested, and no report came'
      : `${reports.size} of ${size} reports came; ranks ${missing.join(', ')}${more > 0 ? ` and ${more} more` : ''} are missing; ${decision.because}`;
  return superseded === undefined ? came : `${superseded}; ${came}`;
}

function outcomeOf({ outcome, verdict }: PreflightRun): string {
  if (verdict && verdict.failed.length + verdict.slow.length > 0) return 'abnormal';
  if (outcome !== 'judged') return 'incomplete';
  return (verdict?.counts.undetermined ?? 0) > 0 ? 'undetermined' : 'healthy';
}

function eventKind(run: PreflightRun): Pick<Announcement, 'type' | 'reason'> {
  const outcome = outcomeOf(run);
  if (run.outcome === 'expired') return { type: 'Warning', reason: eventReasons.preflightIncomplete };
  if (run.outcome === 'superseded' && outcome !== 'abnormal') return { type: 'Normal', reason: eventReasons.preflightIncomplete };
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

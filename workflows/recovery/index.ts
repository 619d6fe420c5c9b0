import {
  ActivityFailure,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  getExternalWorkflowHandle,
  isCancellation,
  setHandler,
  sleep,
} from '@temporalio/workflow';
import type { Announcement } from '../../contract/activities.ts';
import { clusterWorkflowId, eventReasons, jobWorkflowId } from '../../contract/ids.ts';
import { jobTitle } from '../../contract/jobs.ts';
import { type FaultsObserved, type JobPause, signals, statusQuery } from '../../contract/messages.ts';
import type { IncidentRecord, RecoveryDecision, RecoveryInput, RecoveryOutcome, RecoveryStatus } from '../../contract/recovery.ts';
import { attributeWriter, iso } from '../attributes.ts';
import { type HoldReason, HoldDeadlines } from './hold-deadlines.ts';
import { IncidentState, notProvenDead, sentence } from './incident-state.ts';
import { Approvals } from './approval.ts';
import { refusedBy } from './ask-person.ts';
import { tryInProcess } from './in-process.ts';
import { allAnnounced, announce, decideRecovery, perform, short } from '../proxies.ts';
import { type End, followAttempt, type Following } from './next-attempt.ts';
import { prepare, recordPlan } from './preparations.ts';
import { parsePause } from '../operator-requests.ts';
import { othersRun, resume, stop } from './stop.ts';
import { firstPhase, openTimeline } from './timeline.ts';
import { wholeAttempt } from './whole-attempt.ts';

type DecisionOf<Kind extends RecoveryDecision['kind']> = Extract<RecoveryDecision, { kind: Kind }>;

/** Stops in a row that did nothing, because the job changed since the look or the stop could not be sent, until a person is asked. Pauses between them grow up to a minute. */
const mostInterferences = 8;

/** Doubles from `first`, up to 40 s: a day in which nothing can be observed stays far below the history limit. */
const pauseAfter = (times: number, first = 200): number => Math.min(first * 2 ** (times - 1), 40_000);

/** An incident that cannot observe, or is paused, for this long is escalated; its faults stay with the job. */
const escalateAfterMs = 24 * 3_600_000;

/** A workflow that waits for a notification still looks now and then, because notifications can be lost. */
const slowLookMs = 5 * 60_000;

/** One incident: from the first fault until the job runs again, or until it is clear that it will not. */
export async function recovery(input: RecoveryInput): Promise<RecoveryOutcome> {
  const { incident, job, limits } = input;
  const startedAt = Date.now();
  const state = new IncidentState(input.faults);
  const approvals = new Approvals(incident);
  state.paused = input.paused;
  const timeline = openTimeline(job, incident, firstPhase);
  const write = attributeWriter();
  const holds = new HoldDeadlines();
  /** Revision at which we last subscribed; the cluster's workflow drops a subscription once it has notified it. */
  let knownAt: number | undefined;

  setHandler(defineSignal<[FaultsObserved]>(signals.faultsObserved), (payload) => {
    for (const fault of state.take(payload).slice(0, 5)) timeline.happened('fault joined', sentence(fault));
  });
  setHandler(defineSignal(signals.recheck), () => state.newRevision());
  setHandler(defineSignal<[JobPause]>(signals.jobPaused), (payload) => {
    state.paused = parsePause(payload);
    state.newRevision();
  });
  setHandler(defineQuery<RecoveryStatus>(statusQuery), () => ({
    incident,
    attempt: state.stops.length + 1,
    faults: state.faults
      .slice(0, 20)
      .map(({ id, code, message, node, quarantine }) => ({ id, code, message, ...(node ? { node } : {}), ...(quarantine ? { quarantine } : {}) })),
    ...timeline.status(),
    ...approvals.status(),
  }));

  for (const fault of state.faults.slice(0, 5)) timeline.happened('fault', sentence(fault));
  let end: End;
  try {
    end = await recover();
  } catch (error) {
    if (isCancellation(error)) end = { outcome: 'cancelled', because: 'the recovery was cancelled' };
    else if (error instanceof ActivityFailure)
      end = { outcome: 'escalated', because: `${error.activityType} failed for good: ${error.cause?.message ?? error.message}` };
    else throw error;
  }
  return CancellationScope.nonCancellable(() => finish(end));

  /** Look, decide, act; again after every stop, and whenever something arrives that the last look did not cover. */
  async function recover(): Promise<End> {
    let level: Following['level'];
    for (let interferences = 0; ;) {
      const revision = state.revision();
      const { fresh, nodes, pods } = state.look();
      if (holds.times === 0) timeline.now('deciding', { because: state.faults[0]?.message ?? '', waitingFor: 'a look at the job' });
      const attempt = await perform('observeAttempt', `look at ${jobTitle(job)}, its pods and nodes`, { job, nodes, ...(pods.length > 0 && { pods }) });
      const heldMs = holds.msOf('held', Date.now());
      state.sees(attempt.job?.progress);
      // What arrived meanwhile is seen here, and a node that was not looked at must not be taken for one that is gone.
      if (state.nodes().length > nodes.length) continue;
      const paused = attempt.paused ?? state.paused;
      const decision = await decideRecovery({
        attempt: { ...attempt, ...(paused && { paused }) },
        fresh,
        handled: state.handledFaults(),
        stops: state.stops.length,
        ...state.stoppedBy(),
        attempts: limits.attempts,
        asked: input.askedBy !== undefined,
        now: Date.now(),
        ...(state.tried.length > 0 && { tried: state.tried }),
        ...(heldMs !== undefined && { heldMs }),
      });
      state.decided(decision);
      if (state.decisions.length === 1) announceStart(decision);
      if (decision.kind === 'end') {
        if (decision.plan) recordPlan(timeline, decision.plan);
        return decision;
      }
      if (decision.kind === 'hold' && decision.inProcess) {
        endHold();
        const end = await tryInProcess({ input, state, timeline, hasChanged: () => state.unhandled().length > fresh.length }, decision);
        if (!end) continue;
        state.answer(fresh);
        return end;
      }
      if (decision.kind === 'hold') {
        const denied = approvals.denied();
        if (denied) return refusedBy({ timeline, event }, denied);
        const kind = decision.unobservable === true ? 'unobservable' : paused ? 'paused' : 'held';
        if (await hold(kind, decision, revision)) continue;
        return { outcome: 'escalated', because: `still held after its deadline: ${decision.because}`, unhandled: kind !== 'held' };
      }
      endHold();
      if (decision.kind === 'stop') {
        const preparing = {
          input,
          state,
          approvals,
          timeline,
          event,
          decision,
          facts: attempt,
          seenAt: attempt.at ?? decision.at,
          hasChanged: () => state.revision() !== revision,
        };
        const prepared = await prepare(preparing);
        if (prepared === 'look again') continue;
        if (prepared !== 'ready') return prepared;
        const whole = await wholeAttempt(input, attempt);
        // The next look waits until the cluster can be observed.
        if (whole === 'not seen') continue;
        const stopped = whole === 'others run' ? othersRun : await stop({ ...preparing, facts: whole });
        if (stopped !== 'stopped') {
          const { because, againMs } = stopped;
          if (againMs === undefined || ++interferences >= mostInterferences) return { outcome: 'escalated', because };
          await sleep(pauseAfter(interferences, againMs));
          continue;
        }
        interferences = 0;
      }
      state.answer(fresh);
      if (decision.kind === 'stop') level = decision.plan?.level.name === 'pod' ? decision.plan.level : undefined;
      const next = await followAttempt({ input, startedAt, state, timeline, event, level });
      if (next === 'changed') continue;
      if (!('nextLevelBecause' in next)) return next;
      state.tried.push({ level: 'pod', because: next.nextLevelBecause });
      timeline.happened('the whole job next', next.nextLevelBecause);
    }
  }

  /** Reports the faults, and a recovery only when one begins. */
  function announceStart(decision: RecoveryDecision): void {
    const seen = state.faults.filter((fault) => fault.source !== 'operator').slice(0, 5);
    const events = seen.map((fault) => event('Warning', 'faultObserved', sentence(fault), fault.id));
    if (decision.kind !== 'end') events.push(event('Normal', 'recoveryStarted', `${decision.because}: ${incident}`));
    if (events.length > 0) void announce(...events);
  }

  /** Ends a hold: for its whole length nobody could answer, and capacity was not looked up. */
  function endHold(): void {
    const heldMs = holds.end(Date.now());
    approvals.extend(heldMs);
    state.addHeldTime(heldMs);
  }

  /** Waits until something changes; false when the deadline of this hold passed first. */
  async function hold(kind: HoldReason, decision: DecisionOf<'hold'>, revision: number): Promise<boolean> {
    const { isFirst, since } = holds.begin(kind, Date.now());
    const until = since + (kind === 'held' ? limits.holdMs : escalateAfterMs);
    timeline.now('held', { because: `held: ${decision.because}`, waitingFor: decision.remedy, until });
    if (isFirst) {
      timeline.happened('held', decision.because);
      void announce(event('Warning', 'recoveryHeld', `held: ${decision.because}; ${decision.remedy}`));
    }
    if (isFirst || knownAt !== state.revision()) {
      knownAt = state.revision();
      await getExternalWorkflowHandle(clusterWorkflowId)
        .signal(signals.waiting, { workflowId: incident })
        .catch(() => undefined);
      // Registered before one more look, so that a change in between is not missed.
      return true;
    }
    const again = decision.lookAgainMs === undefined ? slowLookMs : pauseAfter(holds.times - 1, decision.lookAgainMs);
    const pause = Math.min(Math.max(1, until - Date.now()), again);
    const changed = await condition(() => state.revision() !== revision || approvals.denied() !== undefined, pause, {
      summary: short(`held: ${decision.because}`),
    });
    return changed || Date.now() < until;
  }

  /** A stop that was begun is finished: however the recovery ended, kcover's own suspend is removed. */
  async function finish(given: End): Promise<RecoveryOutcome> {
    // What arrives from here on belongs to the next incident.
    const faults = given.unhandled ? state.handledIds() : state.coveredIds(given.outcome === 'restarted' || given.outcome === 'recovered');
    const { outcome, because: why, pods = [], podsOf, attemptStartedAt } = await resumed(given);
    const because = `${why}${notProvenDead(state.forcedEver())}`;
    timeline.happened(outcome, because);
    timeline.now('recording', { because, waitingFor: 'the record store' });
    write({ KcoverOutcome: outcome, KcoverNode: state.nodes().slice(0, 20) });
    const report: RecoveryOutcome = {
      incident,
      outcome,
      because,
      ...state.counts(),
      ...state.attribution(),
      faults,
      ...(attemptStartedAt ? { attemptStartedAt } : {}),
    };
    const times = { startedAt: iso(startedAt), endedAt: iso(Date.now()) };
    const what = { ...state.document(pods, podsOf), timeline: timeline.entries };
    const answers = approvals.close();
    const record: IncidentRecord = { schema: 1, incident, job, outcome, because, ...times, ...what, ...(answers.length > 0 && { approvals: answers }) };
    const good = outcome === 'restarted' || outcome === 'recovered';
    const reason = outcome === 'refused' ? 'recoveryRefused' : outcome === 'recovered' ? 'recovered' : good ? 'restarted' : 'recoveryEnded';
    // The job is notified first, in a task of its own: its next incident must not wait for a slow record store, or for a record that Temporal rejects.
    await getExternalWorkflowHandle(jobWorkflowId(job))
      .signal(signals.recoveryEnded, report)
      .catch(() => undefined);
    await Promise.allSettled([
      perform('recordIncident', `keep the record: ${outcome}`, record),
      announce(event(good || outcome === 'cancelled' ? 'Normal' : 'Warning', reason, `${outcome}: ${because}`)),
    ]);
    await condition(allAnnounced);
    timeline.now('ended', { because: `${outcome}: ${because}`, waitingFor: 'nothing' });
    return report;
  }

  async function resumed(given: End): Promise<End> {
    try {
      await resume({ input, state, timeline, event });
      return given;
    } catch {
      return { outcome: 'escalated', because: `${given.because}; and it could not be resumed: look at spec.suspend of ${jobTitle(job)}` };
    }
  }

  function event(
    type: Announcement['type'],
    reason: keyof typeof eventReasons,
    message: string,
    key = `${incident}#${state.stops.length}/${message}`,
  ): Announcement {
    return { about: { kind: 'job', job }, type, reason: eventReasons[reason], message, key };
  }
}

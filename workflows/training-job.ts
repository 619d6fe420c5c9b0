import { condition, continueAsNew, defineQuery, defineSignal, defineUpdate, setHandler, workflowInfo } from '@temporalio/workflow';
import { eventReasons, recoveryId } from '../contract/ids.ts';
import { jobTitle, type JobView } from '../contract/jobs.ts';
import { type FaultsObserved, type JobObserved, notReady, type OperatorRequest, type Recover, signals, statusQuery, updates } from '../contract/messages.ts';
import type { RecoveryOutcome } from '../contract/recovery.ts';
import type { RequestedBy, IncidentDecision, JobInput, JobOutcome, JobStatus, RecoverAnswer } from '../contract/training-job.ts';
import { dismissalEvents, mayBeOver, refusalEvent } from './dismissal-events.ts';
import { attributeWriter, iso, showDetails } from './attributes.ts';
import { announceStuck, howToEnd, lookAtRecovery, startRecovery, signalPause, signalRecovery } from './child.ts';
import { isObject, nodesOf, takeFaults, textOf } from './faults.ts';
import { overridesIn, endOf } from './job-look.ts';
import { JobState } from './job-state.ts';
import { allAnnounced, announce, attempt, awaitAnnounced, decideIncident, decideOptIn, perform, short, tolerate } from './proxies.ts';
import { validateOperatorRequest } from './operator-requests.ts';

/** How long an open incident may be silent before it is checked. */
const lookAfterMs = 5 * 60_000;

/** Looks after one training job from opt-in to its end: collects faults, opens one incident at a time, keeps the budget. */
export async function trainingJob({ job, continued }: JobInput): Promise<JobOutcome> {
  const state = new JobState(continued);
  const write = attributeWriter();
  let status: Pick<JobStatus, 'phase' | 'because' | 'waitingFor' | 'since' | 'until'> = {
    phase: 'starting',
    because: '',
    waitingFor: '',
    since: iso(Date.now()),
  };
  let ready = continued !== undefined;
  let changed = false;
  let removing = 0;
  /** When faults were last judged, ms. The clock of the workflow itself may differ in replay, and commands follow from this. */
  let judgedAt = 0;
  let ended: JobOutcome | undefined;
  /** Revision at which the job was last read: what came since may be about a later opt-in by its owner. */
  let lookedAt = state.revision();
  /** Why the open recovery makes no progress. */
  let stuck: string | undefined;

  setHandler(defineSignal<[FaultsObserved]>(signals.faultsObserved), (payload) => state.take(takeFaults(payload)));
  setHandler(defineSignal<[JobObserved]>(signals.jobObserved), () => {
    changed = true;
  });
  setHandler(
    defineSignal<[Recover?]>(signals.recover),
    (request: unknown) => {
      const { by, reason, label } = isObject(request) ? request : {};
      state.takeRequest({ by: textOf(by) ?? 'signal', reason: textOf(reason) ?? 'asked by signal', ...(label === true ? { label } : {}) });
    },
    { description: 'Asks for a recovery now: {"by": "...", "reason": "..."}' },
  );
  setHandler(defineSignal<[RecoveryOutcome]>(signals.recoveryEnded), (outcome) => {
    stuck = undefined;
    state.recoveryEnded(outcome, Date.now());
  });
  setHandler(
    defineUpdate<RecoverAnswer, [OperatorRequest]>(updates.recoverNow),
    (request) => ({ incident: state.open(recoveryId(job, Date.now()), Date.now(), request) }),
    {
      description: 'Restarts the whole job now, beyond the budget',
      validator: (request) => {
        validateOperatorRequest(request);
        if (state.incident) throw new Error(`already recovering: ${state.incident.incident}`);
        if (ended) throw new Error(`no longer looked after: ${ended.because}`);
        if (!ready) throw new Error(notReady);
      },
    },
  );
  setHandler(defineUpdate<OperatorRequest, [OperatorRequest]>(updates.pause), (request) => state.pause({ by: request.by, reason: request.reason }), {
    description: 'Nothing disruptive begins for this job until it is resumed',
    validator: validateOperatorRequest,
  });
  setHandler(defineUpdate<{ wasPaused: boolean }, [OperatorRequest]>(updates.resume), (request) => ({ wasPaused: state.goOn(request) }), {
    description: 'Ends a pause of this job; what waits is judged anew',
    validator: validateOperatorRequest,
  });
  setHandler(defineQuery<JobStatus>(statusQuery), () => ({ job, ...status, ...state.summary(Date.now()) }));

  // First of all: does the job still exist, and is it still opted in?
  setStatus('starting', 'reading the job', 'the API server');
  const view = await look();
  if (view && !ready && !ended) await begin(view);
  ready = true;
  if (state.incident?.started) await lookAtChild(state.incident.incident);

  for (;;) {
    const revision = state.revision();
    if (changed || (ended && lookedAt !== revision)) await look();
    if (ended && isDone()) return finish(ended);

    const until = await turn();
    if (until === 'again') continue;
    if (mayContinue()) await awaitAnnounced();
    // Input that continue-as-new would not keep may have come meanwhile.
    if (mayContinue()) return continueAsNew<typeof trainingJob>({ job, continued: state.continueAsNewState() });

    const isDue = () => changed || state.revision() !== revision || isLabelLeft() || mayContinue() || (ended !== undefined && isDone());
    if (until === undefined) await condition(isDue);
    else if (!(await condition(isDue, Math.max(1, until - Date.now()), { summary: short(`${status.phase}: ${status.waitingFor}`) })) && state.incident?.started)
      await lookAtChild(state.incident.incident);
  }

  /** One turn: pass on, judge, or just wait. Returns when the next turn is due if nothing changes. */
  async function turn(): Promise<number | undefined | 'again'> {
    await passPauseOn();
    if (isLabelLeft()) void refuseLabel();
    const { incident } = state;
    if (incident?.started) {
      if (stuck !== undefined) setStatus('stuck', `${incident.incident} makes no progress: ${stuck}`, howToEnd(incident.incident));
      else
        setStatus(
          'recovering',
          incident.askedBy ? `${incident.askedBy.by} asked: ${incident.askedBy.reason}` : (state.inbox[0]?.message ?? 'a fault'),
          `the outcome of ${incident.incident}`,
        );
      while (state.incident?.started && state.toForward().length > 0) await forward(incident.incident);
      return state.incident ? Date.now() + lookAfterMs : 'again';
    }
    if (incident || (state.hasWork() && !ended)) return (await consider()) ?? 'again';
    if (state.paused) {
      const waiting = state.inbox[0] ? `; waiting: ${state.inbox[0].message}` : '';
      setStatus('paused', `paused by ${state.paused.by}: ${state.paused.reason}${waiting}`, 'kcover resume');
      return undefined;
    }
    setStatus('watching', state.last ? `last incident ${state.last.outcome}` : 'no fault', 'a fault');
    return undefined;
  }

  function isLabelLeft(): boolean {
    return state.labelLeft;
  }

  /** Only the end of this run waits for it: a pause or a fault may come at any time. */
  async function refuseLabel(): Promise<void> {
    const incident = state.incident?.incident ?? state.last?.incident ?? '';
    const message = `already recovering, the label was removed: ${incident}`;
    const event = { about: { kind: 'job', job }, type: 'Normal', reason: eventReasons.recoveryRefused, message, key: `${job.uid}/${incident}/label` } as const;
    removing += 1;
    const isRemoved = await removeLabel('a recovery is under way, which is what it asks for').catch(() => false);
    if (isRemoved) void announce(event);
    removing -= 1;
  }

  /** Whether nothing is left to do for a job that has ended. */
  function isDone(): boolean {
    return !state.incident && !changed && state.revision() === lookedAt && !isLabelLeft() && removing === 0 && allAnnounced();
  }

  function mayContinue(): boolean {
    return workflowInfo().continueAsNewSuggested && state.pauseChanges.length === 0 && !isLabelLeft() && removing === 0;
  }

  /** False when it could not be removed. */
  async function removeLabel(because: string): Promise<boolean> {
    state.labelRemoved();
    const removed = perform('removeRecoveryLabel', `remove the need-recovery label: ${because}`, { job }).then(() => true);
    return (await tolerate(removed)) === true;
  }

  /** Notifies people, and an open recovery, of a pause and of its end. */
  async function passPauseOn(): Promise<void> {
    for (let change = state.pauseChanges.shift(); change; change = state.pauseChanges.shift()) {
      if (state.incident?.started) await signalPause(state.incident.incident, state.paused);
      const message = `${change.what} by ${change.by}: ${change.reason}`;
      void announce({ about: { kind: 'job', job }, type: 'Normal', reason: eventReasons.jobPaused, message, key: `${job.uid}/${iso(Date.now())}/${message}` });
    }
  }

  /** Reads the job, asks an open recovery to look too, and resumes what a lost recovery left suspended. */
  async function look(): Promise<JobView | undefined> {
    changed = false;
    lookedAt = state.revision();
    const seen = await tolerate(perform('observeJob', `read ${jobTitle(job)}`, { job }));
    // It cannot be read at all: what was known stays, until the next change is seen.
    if (seen === undefined) return undefined;
    ended = endOf(seen, job);
    state.overrides = overridesIn(seen);
    if (state.incident?.started) await forward(state.incident.incident, true);
    const stranger = seen?.suspension?.by === 'kcover' ? seen.suspension.incident : undefined;
    if (stranger !== undefined && stranger !== state.incident?.incident) await lookAtRecovery(job, stranger);
    return seen ?? undefined;
  }

  /** The first run of a job: reads what Temporal still knows of it, and whether it could be recovered at all. */
  async function begin(seen: JobView): Promise<void> {
    state.optedInAt = seen.optedInAt;
    const [found, optIn] = await Promise.all([attempt(perform('findRecoveries', 'recoveries in the last hour', { job })), decideOptIn(seen)]);
    if ('done' in found) state.adopt(found.done, Date.now());
    else adoptUnseen(seen, found.failed);
    if (optIn.kind !== 'warn') return;
    void announce({
      about: { kind: 'job', job },
      type: 'Warning',
      reason: eventReasons.notRecoverable,
      message: `${optIn.because}; ${optIn.remedy}`,
      key: job.uid,
    });
  }

  /** Earlier recoveries could not be listed: the budget begins anew, and the only open one known is the one that suspended the job. */
  function adoptUnseen(seen: JobView, why: string): void {
    const open = seen.suspension?.by === 'kcover' ? seen.suspension.incident : undefined;
    state.adopt({ usage: [], ...(open !== undefined && { open }) }, Date.now());
    const message = `Temporal could not list the recent recoveries of this job (${why}): its budget begins anew`;
    void announce({ about: { kind: 'job', job }, type: 'Warning', reason: eventReasons.budgetUnknown, message, key: `${job.uid}/${workflowInfo().runId}` });
  }

  async function forward(incident: string, lookAnew = false): Promise<void> {
    const faults = state.toForward();
    if (!(await signalRecovery(incident, faults, lookAnew))) await lookAtChild(incident);
    state.forwarded(faults);
  }

  async function lookAtChild(incident: string): Promise<void> {
    const seen = await lookAtRecovery(job, incident);
    if (seen.report) state.recoveryEnded(seen.report, Date.now());
    if (seen.stuck !== undefined && stuck === undefined) announceStuck(job, incident, seen.stuck);
    ({ stuck } = seen);
  }

  /** Judges what waits. Returns when to judge again, or nothing when something was done. */
  async function consider(): Promise<number | undefined> {
    const request = state.nextRequest();
    if (request?.label) await removeLabel('before acting on it');
    // Progress shows whether a job crashes again and again without advancing, or has recovered from an old failure. Its overrides may have changed too.
    const asked: RequestedBy | undefined = state.incident?.askedBy ?? request;
    const before = state.incident?.incident;
    const wantsLook = state.usage.some((one) => one.blame === 'user') || state.inbox.some((fault) => mayBeOver(fault, judgedAt));
    const seen = wantsLook ? await tolerate(perform('observeJob', `how far is ${jobTitle(job)}?`, { job })) : undefined;
    if (seen) state.overrides = overridesIn(seen);
    const decision = await decideIncident({
      job,
      faults: state.inbox,
      usage: state.usage,
      optedInAt: state.optedInAt,
      historyUntil: state.historyUntil,
      since: state.waitingSince ?? Date.now(),
      now: Date.now(),
      ...(seen?.progress ? { progress: seen.progress } : {}),
      ...(state.overrides ? { overrides: state.overrides } : {}),
      ...(state.paused ? { paused: state.paused } : {}),
      ...(asked ? { askedBy: { by: asked.by, reason: asked.reason, ...(asked.byLabel ? { byLabel: asked.byLabel } : {}) } } : {}),
      ...(state.attemptStartedAt === undefined ? {} : { attemptStartedAt: state.attemptStartedAt }),
    });
    judgedAt = decision.at;
    if (decision.found) state.take({ faults: [...decision.found], dropped: 0 });
    state.dismiss(decision.dismissed.map((one) => one.id));
    const events = dismissalEvents(job, decision.dismissed);
    if (events.length > 0) void announce(...events);
    // A person's request has come meanwhile, and is judged by itself.
    if (state.incident?.incident !== before) return undefined;
    if (decision.kind === 'paused') state.waitForPause();
    if (decision.kind === 'wait') setStatus('waiting', decision.because, 'the time of the next decision', decision.until);
    if (decision.kind === 'refuse' && decision.request) return refuseRequest(decision);
    if (decision.kind === 'refuse') refuse(decision);
    if (decision.kind === 'open') {
      if (!state.incident) state.open(recoveryId(job, decision.at), decision.at, request);
      const open = state.incident;
      const faults = open ? state.faultsFor(job, open) : [];
      if (open) await startRecovery(job, open, faults, decision.limits, state.paused);
      if (open) state.started(open, faults, decision.attribution);
    }
    return decision.kind === 'wait' || decision.kind === 'refuse' ? decision.until : undefined;
  }

  function refuse(decision: Extract<IncidentDecision, { kind: 'refuse' }>): void {
    setStatus('refused', decision.because, 'the budget, or kcover recover', decision.until);
    if (state.refuse(decision.until)) void announce(refusalEvent(job, decision, `${decision.until}`));
  }

  /** One Event for each time until which the refusal holds: its key is the same again. */
  function refuseRequest(decision: Extract<IncidentDecision, { kind: 'refuse' }>): undefined {
    state.refuseRequest();
    void announce(refusalEvent(job, decision, `label/${decision.until}`));
  }

  function setStatus(phase: JobStatus['phase'], because: string, waitingFor: string, until?: number): void {
    const same = status.phase === phase && status.because === because;
    status = { phase, because, waitingFor, since: same ? status.since : iso(Date.now()), ...(until === undefined ? {} : { until: iso(until) }) };
    // A fault of these nodes may explain why pods failed there: see `notifyJobs`.
    write({
      KcoverPhase: phase,
      KcoverNode: phase === 'waiting' ? nodesOf(state.inbox).slice(0, 20) : [],
      ...(state.last ? { KcoverOutcome: state.last.outcome } : {}),
    });
    showDetails(`${jobTitle(job)}: ${phase}`, [
      ['because', because],
      ['waiting for', waitingFor],
      ['until', status.until],
      ['incident', state.incident?.incident],
      ['last incident', state.last && `${state.last.outcome}: ${state.last.because}`],
    ]);
  }

  function finish(outcome: JobOutcome): JobOutcome {
    setStatus('ended', outcome.because, 'nothing');
    write({ KcoverOutcome: outcome.outcome });
    return outcome;
  }
}

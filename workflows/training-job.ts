import { condition, continueAsNew, defineQuery, defineSignal, defineUpdate, setHandler, workflowInfo } from '@temporalio/workflow';
import { eventReasons, recoveryId } from '../contract/ids.ts';
import { jobTitle, type JobView } from '../contract/jobs.ts';
import { type FaultsObserved, type JobObserved, notReady, type OperatorWish, type Recover, signals, statusQuery, updates } from '../contract/messages.ts';
import type { RecoveryOutcome } from '../contract/recovery.ts';
import type { Asked, IncidentDecision, JobInput, JobOutcome, JobStatus, RecoverAnswer } from '../contract/training-job.ts';
import { asideEvents, mayBeOver, refusalEvent } from './aside.ts';
import { attributeWriter, iso, showDetails } from './attributes.ts';
import { announceStuck, howToEnd, lookAtRecovery, startRecovery, tellPause, tellRecovery } from './child.ts';
import { isObject, takeFaults, textOf } from './faults.ts';
import { asksOf, endOf } from './job-look.ts';
import { JobMemory } from './job-memory.ts';
import { allAnnounced, announce, attempt, awaitAnnounced, decideIncident, decideOptIn, perform, short, tolerate } from './proxies.ts';
import { requireWish } from './wishes.ts';

/** How long an open incident may be silent before somebody looks at it. */
const lookAfterMs = 5 * 60_000;

/** Looks after one training job from opt-in to its end: collects faults, opens one incident at a time, keeps the budget. */
export async function trainingJob({ job, carried }: JobInput): Promise<JobOutcome> {
  const memory = new JobMemory(carried);
  const write = attributeWriter();
  let status: Pick<JobStatus, 'phase' | 'because' | 'waitingFor' | 'since' | 'until'> = {
    phase: 'starting',
    because: '',
    waitingFor: '',
    since: iso(Date.now()),
  };
  let ready = carried !== undefined;
  let changed = false;
  let removing = 0;
  /** When faults were last judged, ms. The clock of the workflow itself may differ in replay, and commands follow from it. */
  let judgedAt = 0;
  let ended: JobOutcome | undefined;
  /** The mark when the job was last read: what came since may be about another word of its owner. */
  let lookedAt = memory.mark();
  /** Why the open recovery does not get on. */
  let stuck: string | undefined;

  setHandler(defineSignal<[FaultsObserved]>(signals.faultsObserved), (payload) => memory.take(takeFaults(payload)));
  setHandler(defineSignal<[JobObserved]>(signals.jobObserved), () => {
    changed = true;
  });
  setHandler(
    defineSignal<[Recover?]>(signals.recover),
    (wish: unknown) => {
      const { by, reason, label } = isObject(wish) ? wish : {};
      memory.wish({ by: textOf(by) ?? 'signal', reason: textOf(reason) ?? 'asked by signal', ...(label === true ? { label } : {}) });
    },
    { description: 'Asks for a recovery now: {"by": "...", "reason": "..."}' },
  );
  setHandler(defineSignal<[RecoveryOutcome]>(signals.recoveryEnded), (outcome) => {
    stuck = undefined;
    memory.recoveryEnded(outcome, Date.now());
  });
  setHandler(
    defineUpdate<RecoverAnswer, [OperatorWish]>(updates.recoverNow),
    (wish) => ({ incident: memory.open(recoveryId(job, Date.now()), Date.now(), wish) }),
    {
      description: 'Restarts the whole job now, beyond the budget',
      validator: (wish) => {
        requireWish(wish);
        if (memory.incident) throw new Error(`already recovering: ${memory.incident.incident}`);
        if (ended) throw new Error(`no longer looked after: ${ended.because}`);
        if (!ready) throw new Error(notReady);
      },
    },
  );
  setHandler(defineUpdate<OperatorWish, [OperatorWish]>(updates.pause), (wish) => memory.pause({ by: wish.by, reason: wish.reason }), {
    description: 'Nothing disruptive begins for this job until it is resumed',
    validator: requireWish,
  });
  setHandler(defineUpdate<{ wasPaused: boolean }, [OperatorWish]>(updates.resume), (wish) => ({ wasPaused: memory.goOn(wish) }), {
    description: 'Ends a pause of this job; what waits is judged anew',
    validator: requireWish,
  });
  setHandler(defineQuery<JobStatus>(statusQuery), () => ({ job, ...status, ...memory.summary(Date.now()) }));

  // The first act of a run: is the job still there, and still ours?
  tell('starting', 'reading the job', 'the API server');
  const view = await look();
  if (view && !ready && !ended) await begin(view);
  ready = true;
  if (memory.incident?.started) await lookAtChild(memory.incident.incident);

  for (;;) {
    const mark = memory.mark();
    if (changed || (ended && lookedAt !== mark)) await look();
    if (ended && isDone()) return finish(ended);

    const until = await turn();
    if (until === 'again') continue;
    if (mayContinue()) await awaitAnnounced();
    // What is not carried may have come meanwhile.
    if (mayContinue()) return continueAsNew<typeof trainingJob>({ job, carried: memory.carry() });

    const news = () => changed || memory.mark() !== mark || isLabelLeft() || mayContinue() || (ended !== undefined && isDone());
    if (until === undefined) await condition(news);
    else if (!(await condition(news, Math.max(1, until - Date.now()), { summary: short(`${status.phase}: ${status.waitingFor}`) })) && memory.incident?.started)
      await lookAtChild(memory.incident.incident);
  }

  /** One turn: pass on, judge, or just wait. Answers when to turn again without news. */
  async function turn(): Promise<number | undefined | 'again'> {
    await passPauseOn();
    if (isLabelLeft()) void refuseLabel();
    const { incident } = memory;
    if (incident?.started) {
      if (stuck !== undefined) tell('stuck', `${incident.incident} does not get on: ${stuck}`, howToEnd(incident.incident));
      else
        tell(
          'recovering',
          incident.askedBy ? `${incident.askedBy.by} asked: ${incident.askedBy.reason}` : (memory.inbox[0]?.message ?? 'a fault'),
          `the outcome of ${incident.incident}`,
        );
      while (memory.incident?.started && memory.toForward().length > 0) await forward(incident.incident);
      return memory.incident ? Date.now() + lookAfterMs : 'again';
    }
    if (incident || (memory.hasWork() && !ended)) return (await consider()) ?? 'again';
    if (memory.paused) {
      const waiting = memory.inbox[0] ? `; waiting: ${memory.inbox[0].message}` : '';
      tell('paused', `paused by ${memory.paused.by}: ${memory.paused.reason}${waiting}`, 'kcover resume');
      return undefined;
    }
    tell('watching', memory.last ? `last incident ${memory.last.outcome}` : 'no fault', 'a fault');
    return undefined;
  }

  function isLabelLeft(): boolean {
    return memory.labelLeft;
  }

  /** Nothing waits for it but the end of this run: a pause or a fault may come at any time. */
  async function refuseLabel(): Promise<void> {
    const incident = memory.incident?.incident ?? memory.last?.incident ?? '';
    const message = `already recovering, the label was removed: ${incident}`;
    const event = { about: { kind: 'job', job }, type: 'Normal', reason: eventReasons.recoveryRefused, message, key: `${job.uid}/${incident}/label` } as const;
    removing += 1;
    const isRemoved = await removeLabel('a recovery is under way, which is what it asks for').catch(() => false);
    if (isRemoved) void announce(event);
    removing -= 1;
  }

  /** Nothing is left to do for a job that has ended. */
  function isDone(): boolean {
    return !memory.incident && !changed && memory.mark() === lookedAt && !isLabelLeft() && removing === 0 && allAnnounced();
  }

  function mayContinue(): boolean {
    return workflowInfo().continueAsNewSuggested && memory.pauseNews.length === 0 && !isLabelLeft() && removing === 0;
  }

  /** False when it could not be removed. */
  async function removeLabel(because: string): Promise<boolean> {
    memory.labelRemoved();
    const removed = perform('acknowledgeWish', `remove the need-recovery label: ${because}`, { job }).then(() => true);
    return (await tolerate(removed)) === true;
  }

  /** Of a pause, and of its end, people hear, and an open recovery. */
  async function passPauseOn(): Promise<void> {
    for (let news = memory.pauseNews.shift(); news; news = memory.pauseNews.shift()) {
      if (memory.incident?.started) await tellPause(memory.incident.incident, memory.paused);
      const message = `${news.what} by ${news.by}: ${news.reason}`;
      void announce({ about: { kind: 'job', job }, type: 'Normal', reason: eventReasons.jobPaused, message, key: `${job.uid}/${iso(Date.now())}/${message}` });
    }
  }

  /** Reads the job, tells an open recovery to look too, and resumes what a lost recovery left suspended. */
  async function look(): Promise<JobView | undefined> {
    changed = false;
    lookedAt = memory.mark();
    const seen = await tolerate(perform('observeJob', `read ${jobTitle(job)}`, { job }));
    // Unreadable for good: what was known stays, until the next change is seen.
    if (seen === undefined) return undefined;
    ended = endOf(seen, job);
    memory.asks = asksOf(seen);
    if (memory.incident?.started) await forward(memory.incident.incident, true);
    const stranger = seen?.suspension?.by === 'kcover' ? seen.suspension.incident : undefined;
    if (stranger !== undefined && stranger !== memory.incident?.incident) await lookAtRecovery(job, stranger);
    return seen ?? undefined;
  }

  /** The first run of a job: what Temporal still knows of it, and whether it could be recovered at all. */
  async function begin(seen: JobView): Promise<void> {
    memory.optedInAt = seen.optedInAt;
    const [found, optIn] = await Promise.all([attempt(perform('findRecoveries', 'what was spent in the last hour', { job })), decideOptIn(seen)]);
    if ('done' in found) memory.adopt(found.done, Date.now());
    else adoptUnseen(seen, found.failed);
    if (optIn.kind !== 'warn') return;
    void announce({
      about: { kind: 'job', job },
      type: 'Warning',
      reason: eventReasons.notRecoverable,
      message: `${optIn.because}; ${optIn.try}`,
      key: job.uid,
    });
  }

  /** Nobody could say which recoveries there were: the budget begins anew, and of open ones only that which suspended the job is known. */
  function adoptUnseen(seen: JobView, why: string): void {
    const open = seen.suspension?.by === 'kcover' ? seen.suspension.incident : undefined;
    memory.adopt({ spent: [], ...(open !== undefined && { open }) }, Date.now());
    const message = `Temporal could not say which recoveries this job had lately (${why}): its budget begins anew`;
    void announce({ about: { kind: 'job', job }, type: 'Warning', reason: eventReasons.budgetUnknown, message, key: `${job.uid}/${workflowInfo().runId}` });
  }

  async function forward(incident: string, lookAnew = false): Promise<void> {
    const faults = memory.toForward();
    if (!(await tellRecovery(incident, faults, lookAnew))) await lookAtChild(incident);
    memory.forwarded(faults);
  }

  async function lookAtChild(incident: string): Promise<void> {
    const seen = await lookAtRecovery(job, incident);
    if (seen.report) memory.recoveryEnded(seen.report, Date.now());
    if (seen.stuck !== undefined && stuck === undefined) announceStuck(job, incident, seen.stuck);
    ({ stuck } = seen);
  }

  /** Judges what waits; answers when to judge again, or nothing when something was done. */
  async function consider(): Promise<number | undefined> {
    const wish = memory.nextWish();
    if (wish?.label) await removeLabel('before acting on it');
    // Whether a job crashes again and again without getting on, or has got over an old failure, is seen from its progress; and what it asks for may have changed.
    const asked: Asked | undefined = memory.incident?.askedBy ?? wish;
    const before = memory.incident?.incident;
    const wantsLook = memory.spent.some((one) => one.blame === 'user') || memory.inbox.some((fault) => mayBeOver(fault, judgedAt));
    const seen = wantsLook ? await tolerate(perform('observeJob', `how far is ${jobTitle(job)}?`, { job })) : undefined;
    if (seen) memory.asks = asksOf(seen);
    const decision = await decideIncident({
      job,
      faults: memory.inbox,
      spent: memory.spent,
      optedInAt: memory.optedInAt,
      historyUntil: memory.historyUntil,
      since: memory.waitingSince ?? Date.now(),
      now: Date.now(),
      ...(seen?.progress ? { progress: seen.progress } : {}),
      ...(memory.asks ? { wishes: memory.asks } : {}),
      ...(memory.paused ? { paused: memory.paused } : {}),
      ...(asked ? { askedBy: { by: asked.by, reason: asked.reason, ...(asked.byLabel ? { byLabel: asked.byLabel } : {}) } } : {}),
      ...(memory.attemptStartedAt === undefined ? {} : { attemptStartedAt: memory.attemptStartedAt }),
    });
    judgedAt = decision.at;
    memory.setAside(decision.aside.map((one) => one.id));
    const events = asideEvents(job, decision.aside);
    if (events.length > 0) void announce(...events);
    // A person has asked meanwhile, which is judged by itself.
    if (memory.incident?.incident !== before) return undefined;
    if (decision.kind === 'paused') memory.waitForPause();
    if (decision.kind === 'wait') tell('waiting', decision.because, 'its time', decision.until);
    if (decision.kind === 'refuse' && decision.request) return refuseRequest(decision);
    if (decision.kind === 'refuse') refuse(decision);
    if (decision.kind === 'open') {
      if (!memory.incident) memory.open(recoveryId(job, decision.at), decision.at, wish);
      const open = memory.incident;
      const faults = open ? memory.faultsFor(job, open) : [];
      if (open) await startRecovery(job, open, faults, decision.limits, memory.paused);
      if (open) memory.started(open, faults, decision.charge);
    }
    return decision.kind === 'wait' || decision.kind === 'refuse' ? decision.until : undefined;
  }

  function refuse(decision: Extract<IncidentDecision, { kind: 'refuse' }>): void {
    tell('refused', decision.because, 'the budget, or kcover recover', decision.until);
    if (memory.refuse(decision.until)) void announce(refusalEvent(job, decision, `${decision.until}`));
  }

  /** People hear of it once for each time until which it holds: its Event has the same name again. */
  function refuseRequest(decision: Extract<IncidentDecision, { kind: 'refuse' }>): undefined {
    memory.refuseRequest();
    void announce(refusalEvent(job, decision, `label/${decision.until}`));
  }

  function tell(phase: JobStatus['phase'], because: string, waitingFor: string, until?: number): void {
    const same = status.phase === phase && status.because === because;
    status = { phase, because, waitingFor, since: same ? status.since : iso(Date.now()), ...(until === undefined ? {} : { until: iso(until) }) };
    write({ KcoverPhase: phase, ...(memory.last ? { KcoverOutcome: memory.last.outcome } : {}) });
    showDetails(`${jobTitle(job)}: ${phase}`, [
      ['because', because],
      ['waiting for', waitingFor],
      ['until', status.until],
      ['incident', memory.incident?.incident],
      ['last incident', memory.last && `${memory.last.outcome}: ${memory.last.because}`],
    ]);
  }

  function finish(outcome: JobOutcome): JobOutcome {
    tell('ended', outcome.because, 'nothing');
    write({ KcoverOutcome: outcome.outcome });
    return outcome;
  }
}

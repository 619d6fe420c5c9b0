/** The rounds of every run while this controller leads: holds each request until there is an answer. */

import type { Logger } from 'pino';
import { preflightWorkflowId } from '../../../contract/ids.ts';
import type { ControllerSettings } from '../../../contract/settings/settings.schema.ts';
import { type RoundAnswer, type RoundRequest, roundsPollMs } from '../../../contract/preflight/rounds.ts';
import { planRound } from '../../../policy/preflight/plan.ts';
import { notLeading, type Refusal, refused } from '../../intake/reporter.ts';
import { openRun, type Run, type RoundPod } from './run.ts';
import { openPodWaits } from './pod-waits.ts';

export interface RoundsOptions {
  readonly settings: Pick<ControllerSettings['preflight'], 'rounds' | 'most' | 'within'>;
  /** The live pod of this UID, if it tests its node. */
  readonly podOf: (uid: string) => RoundPod | undefined;
  /** Aborted when this controller no longer leads: ends every request. */
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, 'info'>;
  /** Longest time that a request is held, ms. */
  readonly pollMs?: number;
}

export interface Rounds {
  /** The next step of the pod of this UID; held until that is known, at most one request for each pod. */
  next(uid: string, request: RoundRequest): Promise<RoundAnswer | Refusal>;
  /** Requests that are held. */
  waiting(): number;
}

/** A pod may ask this long before our watch has reported it, ms. */
const podVisibleMs = 5000;
/** How often runs are forgotten whose pods are gone, ms. */
const forgetMs = 60_000;

const askedAgain: RoundAnswer = { kind: 'wait', because: 'a later request of this pod replaced this one' };

type Woken = 'changed' | 'asked again' | 'time';

export function beginRounds({ settings, podOf, signal, log, pollMs = roundsPollMs }: RoundsOptions): Rounds {
  /** By workflow id, not by UID, because a label can claim any UID. */
  const runs = new Map<string, Run>();
  /** By workflow, then by pod. */
  const held = new Map<string, Map<string, (why: Woken) => void>>();
  const podWaits = openPodWaits({ podOf, signal, withinMs: Math.min(podVisibleMs, pollMs) });
  let forgotAt = performance.now();
  signal.addEventListener('abort', () => [...held.keys()].forEach(resumeWaiting), { once: true });

  function runOf(id: string, { namespace, name }: RoundPod['workload']): Run {
    const run =
      runs.get(id) ??
      openRun({
        plan: (facts) => planRound(facts, settings),
        withinMs: settings.within,
        onPlan: (round, { kind, because }, without) =>
          log.info(
            { namespace, workload: name, round, kind, because, without: without.slice(0, 50) },
            'a preflight round is planned',
          ),
      });
    runs.set(id, run);
    return run;
  }

  function resumeWaiting(id: string): void {
    for (const resume of held.get(id)?.values() ?? []) resume('changed');
  }

  /** Waits until the time (monotonic, ms), until another request changes the run, or until a later request replaces this one. */
  function hold(id: string, uid: string, until: number): Promise<Woken> {
    const ofRun = held.get(id) ?? new Map<string, (why: Woken) => void>();
    held.set(id, ofRun);
    return new Promise((resolve) => {
      const resume = (why: Woken) => {
        clearTimeout(timer);
        if (ofRun.get(uid) === resume) ofRun.delete(uid);
        if (ofRun.size === 0 && held.get(id) === ofRun) held.delete(id);
        resolve(why);
      };
      const timer = setTimeout(resume, Math.max(0, until - performance.now()), 'time');
      ofRun.set(uid, resume);
    });
  }

  function forgetGone(): void {
    if (performance.now() - forgotAt < forgetMs) return;
    forgotAt = performance.now();
    for (const [id, run] of runs) if (!run.keep((uid) => podOf(uid) !== undefined)) runs.delete(id);
  }

  return {
    async next(uid, request) {
      const pod = await podWaits.await(uid);
      if (signal.aborted) return notLeading();
      if (pod === 'asked again') return askedAgain;
      if (pod === 'full')
        return refused(
          'not-testing',
          'this pod is not known yet, and too many others wait for that already: ask again',
        );
      if (pod === 'unknown')
        return refused('not-testing', 'no pod of this token tests its node: it needs the label kcover.io/preflight');
      forgetGone();
      const id = preflightWorkflowId(pod.workload);
      held.get(id)?.get(uid)?.('asked again');
      const until = performance.now() + pollMs;
      for (;;) {
        if (signal.aborted) return notLeading();
        const run = runOf(id, pod.workload);
        const before = run.version();
        const asked = run.ask(pod, request, performance.now());
        if (run.version() !== before) resumeWaiting(id);
        if (asked.kind === 'answer') return asked.answer;
        if (asked.kind === 'refused') return refused('other-size', asked.because);
        if (performance.now() >= until) return { kind: 'wait', because: asked.because };
        if ((await hold(id, uid, Math.min(until, asked.until))) === 'asked again') return askedAgain;
      }
    },
    waiting: () => [...held.values()].reduce((sum, { size }) => sum + size, podWaits.waiting()),
  };
}

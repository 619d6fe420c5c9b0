/** The rounds of every run while we lead: holds each request until there is something to say. */

import type { Logger } from 'pino';
import type { ControllerSettings } from '../../contract/settings.schema.ts';
import { type RoundAnswer, type RoundRequest, roundsPollMs } from '../../contract/preflight-rounds.ts';
import { planRound } from '../../policy/preflight-plan.ts';
import { notLeading, type Refusal, refused } from '../reporter.ts';
import { pause } from '../watchers/persist.ts';
import { openRun, type Run, type TestingPod } from './run.ts';

export interface RoundsOptions {
  readonly settings: Pick<ControllerSettings['preflight'], 'rounds' | 'most' | 'within'>;
  /** The live pod of this UID, where it is one that tests its node. */
  readonly podOf: (uid: string) => TestingPod | undefined;
  /** Aborted when we no longer lead: ends every request. */
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, 'info'>;
  /** Longest time that a request is held, ms. */
  readonly pollMs?: number;
}

export interface Rounds {
  /** What the pod of this UID does next; held until that is known, at most one request for each pod. */
  next(uid: string, request: RoundRequest): Promise<RoundAnswer | Refusal>;
  /** Requests that are held. */
  waiting(): number;
}

/** A pod may ask before our watch has told of it, ms. */
const sightMs = 5000;
/** How often runs are forgotten whose pods are gone, ms. */
const forgetMs = 60_000;

type Woken = 'changed' | 'asked again' | 'time';

export function beginRounds({ settings, podOf, signal, log, pollMs = roundsPollMs }: RoundsOptions): Rounds {
  const runs = new Map<string, Run>();
  /** By workload, then by pod. */
  const held = new Map<string, Map<string, (why: Woken) => void>>();
  let forgotAt = performance.now();
  signal.addEventListener('abort', () => [...held.keys()].forEach(wake), { once: true });

  function runOf({ namespace, name, uid }: TestingPod['workload']): Run {
    const run =
      runs.get(uid) ??
      openRun({
        plan: (facts) => planRound(facts, settings),
        withinMs: settings.within,
        onPlan: (round, { kind, because }, without) =>
          log.info({ namespace, workload: name, round, kind, because, without: without.slice(0, 50) }, 'a preflight round is planned'),
      });
    runs.set(uid, run);
    return run;
  }

  function wake(workload: string): void {
    for (const resume of held.get(workload)?.values() ?? []) resume('changed');
  }

  /** Until the time (monotonic, ms), or until another request changes the run, or takes the place of this one. */
  function hold({ uid, workload }: TestingPod, until: number): Promise<Woken> {
    const ofRun = held.get(workload.uid) ?? new Map<string, (why: Woken) => void>();
    held.set(workload.uid, ofRun);
    return new Promise((resolve) => {
      const resume = (why: Woken) => {
        clearTimeout(timer);
        if (ofRun.get(uid) === resume) ofRun.delete(uid);
        if (ofRun.size === 0 && held.get(workload.uid) === ofRun) held.delete(workload.uid);
        resolve(why);
      };
      const timer = setTimeout(resume, Math.max(0, until - performance.now()), 'time');
      ofRun.set(uid, resume);
    });
  }

  async function sighted(uid: string): Promise<TestingPod | undefined> {
    const since = performance.now();
    while (!podOf(uid) && !signal.aborted && performance.now() - since < Math.min(sightMs, pollMs)) await pause(100, signal);
    return podOf(uid);
  }

  function forgetGone(): void {
    if (performance.now() - forgotAt < forgetMs) return;
    forgotAt = performance.now();
    for (const [workload, run] of runs) if (!run.keep((uid) => podOf(uid) !== undefined)) runs.delete(workload);
  }

  return {
    async next(uid, request) {
      const pod = await sighted(uid);
      if (!pod) return signal.aborted ? notLeading() : refused('not-testing', 'no pod of this token tests its node: it needs the label kcover.io/preflight');
      forgetGone();
      held.get(pod.workload.uid)?.get(uid)?.('asked again');
      const until = performance.now() + pollMs;
      for (;;) {
        if (signal.aborted) return notLeading();
        const run = runOf(pod.workload);
        const before = run.version();
        const asked = run.ask(pod, request, performance.now());
        if (run.version() !== before) wake(pod.workload.uid);
        if (asked.kind === 'answer') return asked.answer;
        if (asked.kind === 'refused') return refused('other-size', asked.because);
        if (performance.now() >= until) return { kind: 'wait', because: asked.because };
        if ((await hold(pod, Math.min(until, asked.until))) === 'asked again') return { kind: 'wait', because: 'this pod asked again meanwhile' };
      }
    },
    waiting: () => [...held.values()].reduce((sum, { size }) => sum + size, 0),
  };
}

/**
 * The leader's label: it is on our pod while we lead, and on no other. The Service of the intake follows it; who answers agents is
 * decided by the Lease alone, so a label in the wrong place costs time and nothing else.
 */

import { KcoverError } from '../contract/errors.ts';
import type { LabelStore } from '../kube/leader-label.ts';

export interface LeaderLabelOptions {
  readonly store: LabelStore;
  /** Name of our own pod. */
  readonly pod: string;
  readonly leading: () => boolean;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Ends early, without an error, when the signal comes. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onTrouble: (because: string) => void;
  /** Between two looks while we lead, ms: a leader that was overtaken may still have written. */
  readonly lookAgainMs: number;
  /** After a failure, ms. */
  readonly retryMs: number;
}

export interface LeaderLabel {
  /** We lead from now on. */
  wear(): void;
  /** Takes it off ourselves. Never rejects. */
  drop(): Promise<void>;
}

/** Takes it off ourselves first: an earlier process of this pod may have left it. */
export function openLeaderLabel({ store, pod, leading, signal, pause, onTrouble, lookAgainMs, retryMs }: LeaderLabelOptions): LeaderLabel {
  let wears = false;
  let isLabelled = false;
  let reported: string | undefined;
  const cleared = takeOff();

  async function attempt(act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act();
      reported = undefined;
      return true;
    } catch (error) {
      report(sentenceOf(error));
      return false;
    }
  }

  /** What goes on is said once. */
  function report(because: string): void {
    if (because !== reported) onTrouble(because);
    reported = because;
  }

  async function takeOff(): Promise<void> {
    while (!signal.aborted && !wears && !(await attempt(() => store.clear(pod)))) await pause(retryMs, signal);
  }

  /** Ours first: agents wait for one that answers, and the others say no. */
  async function correct(): Promise<void> {
    if (leading() && !isLabelled && !(await store.label(pod))) throw new KcoverError('not-found', `there is no pod ${pod}`);
    const labelled = await store.labelled();
    isLabelled = labelled.includes(pod);
    for (const other of labelled) if (other !== pod && leading()) await store.clear(other);
  }

  async function keep(): Promise<void> {
    // A late answer to the first request must not take off what we put on.
    await cleared;
    while (!signal.aborted) await pause((await attempt(correct)) && isLabelled ? lookAgainMs : retryMs, signal);
  }

  return {
    wear() {
      wears = true;
      void keep();
    },
    drop: async () => void (await attempt(() => store.clear(pod))),
  };
}

const sentenceOf = (error: unknown): string => (error instanceof KcoverError ? error.because : error instanceof Error ? error.message : 'unknown failure');

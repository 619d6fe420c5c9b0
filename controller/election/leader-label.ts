/**
 * The leader's label: only the leader's pod has it, and the Service of the intake follows it. The Lease alone decides who accepts reports,
 * so a label on the wrong pod only costs time.
 */

import { KcoverError } from '../../contract/errors.ts';
import type { LabelStore } from '../../kube/pods/leader-label.ts';

export interface LeaderLabelOptions {
  readonly store: LabelStore;
  /** Name of our own pod. */
  readonly pod: string;
  readonly leading: () => boolean;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Resolves early, without an error, when the signal aborts. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onTrouble: (because: string) => void;
  /** Interval between checks while leading, ms: a former leader may still have written. */
  readonly lookAgainMs: number;
  /** After a failure, ms. */
  readonly retryMs: number;
}

export interface LeaderLabel {
  /** This pod leads from now on. */
  add(): void;
  /** Removes the label from this pod. Never rejects. */
  remove(): Promise<void>;
}

/** Begins by removing the label from this pod: an earlier process of it may have left one. */
export function openLeaderLabel({
  store,
  pod,
  leading,
  signal,
  pause,
  onTrouble,
  lookAgainMs,
  retryMs,
}: LeaderLabelOptions): LeaderLabel {
  let isAdded = false;
  let isLabelled = false;
  let reported: string | undefined;
  const cleared = removeLeftover();

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

  /** Logs a repeated problem once. */
  function report(because: string): void {
    if (because !== reported) onTrouble(because);
    reported = because;
  }

  async function removeLeftover(): Promise<void> {
    while (!signal.aborted && !isAdded && !(await attempt(() => store.clear(pod)))) await pause(retryMs, signal);
  }

  /** This pod first: agents wait for one that accepts reports, and the others refuse. */
  async function correct(): Promise<void> {
    if (leading() && !isLabelled && !(await store.label(pod)))
      throw new KcoverError('not-found', `there is no pod ${pod}`);
    const labelled = await store.labelled();
    isLabelled = labelled.includes(pod);
    for (const other of labelled) if (other !== pod && leading()) await store.clear(other);
  }

  async function keep(): Promise<void> {
    // A late answer to the first request must not remove the label that is set now.
    await cleared;
    while (!signal.aborted) await pause((await attempt(correct)) && isLabelled ? lookAgainMs : retryMs, signal);
  }

  return {
    add() {
      isAdded = true;
      void keep();
    },
    remove: async () => void (await attempt(() => store.clear(pod))),
  };
}

const sentenceOf = (error: unknown): string =>
  error instanceof KcoverError ? error.because : error instanceof Error ? error.message : 'unknown failure';

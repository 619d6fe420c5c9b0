/** What was told of each pod, so that a broken-into agent can write any number of files and yet tell little. */

import { createHash } from 'node:crypto';
import type { CollectedReport } from '../../contract/preflight.ts';
import type { RefusedReport } from '../../contract/preflight-files.ts';

/** `known`: the same was told before. `soon`: another file was taken a moment ago. `many`: it has told all that a pod may. */
export type Admission = 'tell' | 'known' | 'soon' | 'many';

export interface ToldMemory {
  /** Each `tell` counts, until it is said that Temporal did not take it. */
  report(uid: string, report: CollectedReport): Admission;
  refusal(uid: string, refused: RefusedReport): Exclude<Admission, 'soon'>;
  /** What was to be told, and whether Temporal took it. */
  settle(uid: string, what: CollectedReport | RefusedReport, took: boolean): void;
}

/** Reports and refusals that are told of a pod, and how many pods are remembered: a workload has at most 10,000. */
export const mostTold = { reports: 100, refusals: 20, pods: 50_000 } as const;
/** Between two reports of a pod, ms. */
const pauseMs = 1000;

interface Told {
  /** The report that Temporal took last. */
  last?: string;
  /** When a report was last tried. */
  triedAt: number;
  reports: number;
  /** Whether Temporal has them. */
  readonly refusals: Map<string, boolean>;
}

const keyOf = (what: CollectedReport | RefusedReport): string => createHash('sha256').update(JSON.stringify(what)).digest('base64');

/** `now`: monotonic, ms. */
export function openToldMemory(now: () => number): ToldMemory {
  /** By UID; the pod of which something was heard last stands last. */
  const pods = new Map<string, Told>();

  function of(uid: string): Told {
    const told = pods.get(uid) ?? { triedAt: -Infinity, reports: 0, refusals: new Map<string, boolean>() };
    pods.delete(uid);
    pods.set(uid, told);
    for (const oldest of pods.keys()) {
      if (pods.size <= mostTold.pods) break;
      pods.delete(oldest);
    }
    return told;
  }

  return {
    report(uid, report) {
      const told = of(uid);
      if (told.last === keyOf(report)) return 'known';
      if (told.reports >= mostTold.reports) return 'many';
      if (now() - told.triedAt < pauseMs) return 'soon';
      told.reports += 1;
      told.triedAt = now();
      return 'tell';
    },
    refusal(uid, refused) {
      const { refusals } = of(uid);
      const key = keyOf(refused);
      if (refusals.get(key)) return 'known';
      if (refusals.size >= mostTold.refusals && !refusals.has(key)) return 'many';
      refusals.set(key, false);
      return 'tell';
    },
    settle(uid, what, took) {
      const told = of(uid);
      const key = keyOf(what);
      if ('report' in what) {
        if (took) told.last = key;
        else told.reports = Math.max(0, told.reports - 1);
      } else if (took) told.refusals.set(key, true);
      else told.refusals.delete(key);
    },
  };
}

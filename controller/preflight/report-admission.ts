/** What was told of each pod, so that a broken-into agent can write any number of files and yet tell little. */

import { createHash } from 'node:crypto';
import type { CollectedReport } from '../../contract/preflight.ts';
import type { RefusedReport } from '../../contract/preflight-files.ts';

/** `known`: the same was told before. `soon`: another file was taken a moment ago. `many`: it has told all that a pod may. */
export type AdmissionResult = 'send' | 'known' | 'soon' | 'many';

export interface ReportAdmission {
  /** Each `tell` counts, until it is said that Temporal did not take it. */
  report(uid: string, report: CollectedReport): AdmissionResult;
  refusal(uid: string, refused: RefusedReport): Exclude<AdmissionResult, 'soon'>;
  /** What was to be told, and whether Temporal took it. */
  settle(uid: string, what: CollectedReport | RefusedReport, took: boolean): void;
}

/** Reports and refusals that are told of a pod, and how many pods are remembered: a workload has at most 10,000. */
export const admissionLimits = { reports: 100, refusals: 20, pods: 50_000 } as const;
/** Between two reports of a pod, ms. */
const pauseMs = 1000;

interface PodReports {
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
export function openReportAdmission(now: () => number): ReportAdmission {
  /** By UID; the pod of which something was heard last stands last. */
  const pods = new Map<string, PodReports>();

  function of(uid: string): PodReports {
    const entry = pods.get(uid) ?? { triedAt: -Infinity, reports: 0, refusals: new Map<string, boolean>() };
    pods.delete(uid);
    pods.set(uid, entry);
    for (const oldest of pods.keys()) {
      if (pods.size <= admissionLimits.pods) break;
      pods.delete(oldest);
    }
    return entry;
  }

  return {
    report(uid, report) {
      const entry = of(uid);
      if (entry.last === keyOf(report)) return 'known';
      if (entry.reports >= admissionLimits.reports) return 'many';
      if (now() - entry.triedAt < pauseMs) return 'soon';
      entry.reports += 1;
      entry.triedAt = now();
      return 'send';
    },
    refusal(uid, refused) {
      const { refusals } = of(uid);
      const key = keyOf(refused);
      if (refusals.get(key)) return 'known';
      if (refusals.size >= admissionLimits.refusals && !refusals.has(key)) return 'many';
      refusals.set(key, false);
      return 'send';
    },
    settle(uid, what, took) {
      const entry = of(uid);
      const key = keyOf(what);
      if ('report' in what) {
        if (took) entry.last = key;
        else entry.reports = Math.max(0, entry.reports - 1);
      } else if (took) entry.refusals.set(key, true);
      else entry.refusals.delete(key);
    },
  };
}

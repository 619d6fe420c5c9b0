/** What was sent about each pod, so that a compromised agent can write any number of files and yet send few reports. */

import { createHash } from 'node:crypto';
import type { CollectedReport } from '../../contract/preflight/preflight.ts';
import type { RefusedReport } from '../../contract/preflight/files.ts';

/** `known`: a repeat. `soon`: another file was accepted a moment ago. `many`: the pod has used its whole limit. */
export type AdmissionResult = 'send' | 'known' | 'soon' | 'many';

export interface ReportAdmission {
  /** Each `send` counts, until `settle` says that Temporal did not accept it. */
  report(uid: string, report: CollectedReport): AdmissionResult;
  refusal(uid: string, refused: RefusedReport): Exclude<AdmissionResult, 'soon'>;
  /** Whether Temporal accepted what was to be sent. */
  settle(uid: string, what: CollectedReport | RefusedReport, accepted: boolean): void;
}

/** Reports and refusals that are sent for a pod, and how many pods are remembered: a workload has at most 10,000. */
export const admissionLimits = { reports: 100, refusals: 20, pods: 50_000 } as const;
/** Minimum time between two reports of a pod, ms. */
const pauseMs = 1000;

interface PodReports {
  /** The last report that Temporal accepted. */
  last?: string;
  /** When a report was last tried. */
  triedAt: number;
  reports: number;
  /** Whether Temporal has them. */
  readonly refusals: Map<string, boolean>;
}

const keyOf = (what: CollectedReport | RefusedReport): string =>
  createHash('sha256').update(JSON.stringify(what)).digest('base64');

/** `now`: monotonic, ms. */
export function openReportAdmission(now: () => number): ReportAdmission {
  /** By UID; the pod with the most recent activity is last. */
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
    settle(uid, what, accepted) {
      const entry = of(uid);
      const key = keyOf(what);
      if ('report' in what) {
        if (accepted) entry.last = key;
        else entry.reports = Math.max(0, entry.reports - 1);
      } else if (accepted) entry.refusals.set(key, true);
      else entry.refusals.delete(key);
    },
  };
}

import { jobTitle, type JobRef } from '../../contract/jobs.ts';
import type { TimelineEntry, RecoveryPhase, RecoveryStatus } from '../../contract/recovery.ts';
import { type Attributes, attributeWriter, iso, showDetails } from '../attributes.ts';

/** What a recovery publishes while it runs: phase, reason, what it waits for and until when, and what happened so far. */
export interface Timeline {
  readonly entries: TimelineEntry[];
  happened(what: string, because?: string): void;
  now(phase: RecoveryPhase, words: { because: string; waitingFor: string; until?: number }): void;
  status(): Pick<RecoveryStatus, 'phase' | 'because' | 'waitingFor' | 'since' | 'until' | 'timeline'>;
}

/** What a recovery is started with. */
export const firstPhase = { KcoverPhase: 'deciding' } as const satisfies Attributes;

/** `given`: the search attributes that the workflow was started with. */
export function openTimeline(job: JobRef, incident: string, given: Attributes = {}): Timeline {
  const entries: TimelineEntry[] = [];
  const write = attributeWriter(given);
  let current: Pick<RecoveryStatus, 'phase' | 'because' | 'waitingFor' | 'since' | 'until'> = {
    phase: 'deciding',
    because: '',
    waitingFor: '',
    since: iso(Date.now()),
  };

  return {
    entries,
    happened(what, because) {
      entries.push({ at: iso(Date.now()), what, ...(because === undefined ? {} : { because }) });
    },
    now(phase, { because, waitingFor, until }) {
      current = { phase, because, waitingFor, since: iso(Date.now()), ...(until === undefined ? {} : { until: iso(until) }) };
      write({ KcoverPhase: phase });
      showDetails(`${jobTitle(job)}: ${phase}`, [
        ['because', because],
        ['waiting for', waitingFor],
        ['until', current.until],
        ['incident', incident],
        ...entries.map((entry) => [entry.at, entry.because ? `${entry.what}: ${entry.because}` : entry.what] as const),
      ]);
    },
    status: () => ({ ...current, timeline: entries }),
  };
}

/** Machines by how often kcover quarantined them. Pure. */

import type { IncidentSummary } from '../incidents/incident.ts';

/** One machine, whatever its Node object was called. */
export interface Offender {
  /** The system UUID; null where no record names it. */
  readonly machine: string | null;
  /** Names of its Node objects, the newest first. */
  readonly nodes: readonly string[];
  readonly incidents: number;
  /** RFC 3339: when the last one began. */
  readonly last: string;
  readonly because: string;
  /** How the last repair ended, or what it does. */
  readonly repair: string | null;
  readonly retired: boolean;
}

/** Those with most incidents first. What a person quarantined convicts no machine. `quarantines`: newest first. */
export function offendersIn(quarantines: readonly IncidentSummary[], since: number): readonly Offender[] {
  const byMachine = new Map<string, IncidentSummary[]>();
  for (const one of quarantines) {
    if (one.kind !== 'quarantine' || one.by !== 'kcover' || Date.parse(one.startedAt) < since) continue;
    const key = one.machine ?? `node ${one.about}`;
    byMachine.set(key, [...(byMachine.get(key) ?? []), one]);
  }
  return [...byMachine.values()].flatMap(offenderOf).toSorted(mostFirst);
}

function offenderOf(found: readonly IncidentSummary[]): Offender[] {
  const [last] = found;
  if (!last) return [];
  return [
    {
      machine: last.machine ?? null,
      nodes: [...new Set(found.map(({ about }) => about))],
      incidents: found.length,
      last: last.startedAt,
      because: last.because,
      repair: last.remedy?.state ?? null,
      retired: found.some(({ remedy }) => remedy?.state === 'retired'),
    },
  ];
}

const mostFirst = (a: Offender, b: Offender): number => b.incidents - a.incidents || b.last.localeCompare(a.last);

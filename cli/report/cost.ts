/** What an incident cost, from its record. Pure. */

import type { IncidentRecord, RecoveryPhase } from '../../contract/recovery/recovery.ts';

/** `detecting`: from the first fault, by the clock of its node, until the recovery began. */
export interface PhaseSpan {
  readonly phase: RecoveryPhase | 'detecting';
  readonly from: number;
  readonly to: number;
}

/** When the first fault was seen, ms: a clock that runs ahead puts it at the start of the recovery. */
export function firstFaultAt({ faults, startedAt }: Pick<IncidentRecord, 'faults' | 'startedAt'>): number {
  const started = Date.parse(startedAt);
  const seen = faults.map(({ seenAt }) => Date.parse(seenAt)).filter((at) => at <= started);
  return Math.min(started, ...seen);
}

/** Every phase with its begin and end, ms; those that took no time are left out. */
export function spansOf(record: Pick<IncidentRecord, 'faults' | 'startedAt' | 'endedAt' | 'phases'>): PhaseSpan[] {
  const end = Date.parse(record.endedAt);
  const entries = record.phases.map(({ phase, at }) => ({ phase, from: Date.parse(at) }));
  const spans: PhaseSpan[] = [
    { phase: 'detecting', from: firstFaultAt(record), to: Date.parse(record.startedAt) },
    ...entries.map(({ phase, from }, index) => ({ phase, from, to: Math.min(end, entries[index + 1]?.from ?? end) })),
  ];
  return spans.filter(({ from, to }) => to > from);
}

export interface Cost {
  readonly gpus: number;
  /** From the first fault, or the last step before the stop where training went on after it, until training had passed that step again: standstill and rework together. */
  readonly lostMs: number;
  /** False where that was not seen: it is then counted until the recovery ended. */
  readonly isWhole: boolean;
  /** Steps made a second time, as far as the reports of the trainer tell; contained in `lostMs`. */
  readonly rework?: { readonly from: number; readonly steps: number; readonly ms: number };
}

/** A job on a node that begins to fail trains on until it is stopped. What the trainer reports counts up to the stop. */
function standsStillFrom(record: IncidentRecord): number {
  const [stop] = record.stops;
  const lastStep = Date.parse(record.progress?.before?.at ?? '');
  const most = Date.parse(stop?.at ?? record.endedAt);
  return Math.max(firstFaultAt(record), Number.isNaN(lastStep) ? 0 : Math.min(lastStep, most));
}

/** Undefined where nothing was stopped, or the job asks for no accelerators. */
export function costOf(record: IncidentRecord): Cost | undefined {
  const { gpus, stops, outcome, endedAt, progress } = record;
  if (gpus === undefined || stops.length === 0) return undefined;
  const lostMs = Date.parse(endedAt) - standsStillFrom(record);
  const { step = 0, checkpointStep, pace } = progress?.before ?? {};
  const again = checkpointStep === undefined ? 0 : step - checkpointStep;
  const ms = pace ? Math.min(lostMs, again * pace.msPerStep) : 0;
  return {
    gpus,
    lostMs,
    isWhole: outcome === 'recovered',
    ...(checkpointStep !== undefined && again > 0 && ms > 0 && { rework: { from: checkpointStep, steps: again, ms } }),
  };
}

/** Two digits that count. */
export const gpuHours = (ms: number, gpus: number): string => String(Number(((ms / 3_600_000) * gpus).toPrecision(2)));

/** Collects what a log tells about a training, within bounds. */

import type { LogEvent, LogReaderOptions, PresetName } from '../../faults/logs/log-event.ts';
import { createLineJoiner } from '../../faults/logs/cri-line.ts';
import { createLogReader } from '../../faults/logs/log-reader.ts';

export interface TrialStep {
  readonly step: number;
  /** RFC 3339, where the lines have times. */
  readonly at?: string;
}

/** The JSON of `kcover progress try`. */
export interface Trial {
  /** Null where none fits. */
  readonly preset: PresetName | null;
  /** The newest, at most 10,000. */
  readonly steps: readonly TrialStep[];
  readonly checkpoints: readonly { readonly step: number | null }[];
  /** The last step; null without one. */
  readonly last: number | null;
  readonly total: number | null;
  /** Median of the last 20 steps. */
  readonly msPerStep: number | null;
  /** Whether the trainer prints it, or it comes from the times of lines. */
  readonly paceFrom: 'lines' | 'times' | null;
  /** How many there were. */
  readonly counts: Readonly<Record<'lines' | 'steps' | 'checkpoints' | 'watchdog', number>>;
}

const mostSteps = 10_000;

/** As for the pace of progress files. */
const paceSteps = 20;

export async function tryLog(lines: AsyncIterable<string>, options: LogReaderOptions): Promise<Trial> {
  const [joiner, reader] = [createLineJoiner(), createLogReader(options)];
  const counts = { lines: 0, steps: 0, checkpoints: 0, watchdog: 0 };
  const steps: TrialStep[] = [];
  const checkpoints: { step: number | null }[] = [];
  const printed: number[] = [];
  let total: number | null = null;

  function take(event: LogEvent, at: string | undefined): void {
    if (event.kind === 'watchdog') counts.watchdog += 1;
    if (event.kind === 'checkpoint') {
      counts.checkpoints += 1;
      addTo(checkpoints, { step: event.step ?? null }, mostSteps);
    }
    if (event.kind !== 'step') return;
    counts.steps += 1;
    total = event.total ?? total;
    addTo(steps, { step: event.step, ...(at !== undefined && { at }) }, mostSteps);
    if (event.stepMs !== undefined) addTo(printed, event.stepMs, paceSteps);
  }

  for await (const line of lines) {
    counts.lines += 1;
    for (const { text, at } of joiner.take(line)) for (const event of reader.take(text)) take(event, at);
  }
  const byTimes = printed.length === 0 ? betweenTimes(steps.slice(-paceSteps - 1)) : [];
  const pace = median(printed.slice(-paceSteps)) ?? median(byTimes);
  return {
    preset: reader.preset ?? null,
    steps: steps.slice(-mostSteps),
    checkpoints: checkpoints.slice(-mostSteps),
    last: steps.at(-1)?.step ?? null,
    total,
    msPerStep: pace ?? null,
    paceFrom: pace === undefined ? null : printed.length > 0 ? 'lines' : 'times',
    counts,
  };
}

/** Keeps at least the newest `most`, and never twice as many: they are dropped in blocks. */
function addTo<T>(list: T[], one: T, most: number): void {
  list.push(one);
  if (list.length >= most * 2) list.splice(0, list.length - most);
}

/** Time of one step, between neighbours that have times and count up. */
const betweenTimes = (steps: readonly TrialStep[]): readonly number[] =>
  steps.slice(1).flatMap(({ step, at = '' }, index) => {
    const before = steps[index];
    const ms = Date.parse(at) - Date.parse(before?.at ?? '');
    const count = step - (before?.step ?? step);
    return count > 0 && ms > 0 ? [ms / count] : [];
  });

function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  return middle === undefined ? undefined : Math.round(middle * 1000) / 1000;
}

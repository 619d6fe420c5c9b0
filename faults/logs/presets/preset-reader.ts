/** Reads lines with one preset. It keeps a handful of numbers, whatever the lines say. */

import type { LogEvent, LogPhase, StepEvent } from '../log-event.ts';
import { find, findFirst, type Groups, wholeOf } from './find.ts';
import type { Preset } from './preset.ts';

/** Longest duration of a step that is taken for one, ms: a week, as for the pace of a progress file. */
const longestStepMs = 7 * 24 * 3_600_000;

export interface PresetReader {
  take(line: string): readonly LogEvent[];
}

export function createPresetReader(preset: Preset): PresetReader {
  let phase: LogPhase = 'training';
  /** The last step. */
  let last: number | undefined;
  /** Number of steps of the training; of other loops nothing is reported. */
  let total: number | undefined;
  /** A save that the next step proves complete. */
  let unproven: number | undefined;

  const enter = (next: LogPhase): readonly LogEvent[] => {
    if (next === phase) return [];
    phase = next;
    return [{ kind: 'phase', phase: next }];
  };

  /** A loop that is longer than one that was finished takes its place: short ones may run before the training. */
  function isOtherLoop(step: StepEvent): boolean {
    if (!preset.hasOtherLoops || step.total === undefined || step.total === total) return false;
    const finished = total === undefined || (last === total && step.total > total);
    if (!finished) return true;
    [total, last] = [step.total, undefined];
    return false;
  }

  function atStep(step: StepEvent): readonly LogEvent[] {
    if (isOtherLoop(step)) return enter('evaluating');
    if (step.step === last) return [];
    const proven = unproven !== undefined && step.step > unproven ? unproven : undefined;
    unproven = undefined;
    phase = 'training';
    last = step.step;
    return [...(proven === undefined ? [] : [{ kind: 'checkpoint', step: proven } as const]), step];
  }

  function atSave(groups: Groups, between: boolean): readonly LogEvent[] {
    const step = wholeOf(groups['step']) ?? last;
    if (between) unproven = step;
    return enter('saving');
  }

  function atSaved(groups: Groups): readonly LogEvent[] {
    const step = wholeOf(groups['step']) ?? last;
    unproven = undefined;
    return [{ kind: 'checkpoint', ...(step !== undefined && { step }) }, ...enter('training')];
  }

  return {
    take(line) {
      const announced = preset.announced && find(preset.announced, line);
      if (announced) total = wholeOf(announced['total']);
      const step = stepIn(preset, line);
      const events = step === undefined ? [] : atStep(step);
      // A progress bar does not end its line, so more may follow on it.
      const saved = findFirst(preset.saved, line);
      if (saved) return [...events, ...atSaved(saved)];
      const between = findFirst(preset.savingBetweenSteps, line);
      const saving = between ?? findFirst(preset.saving, line);
      if (saving) return [...events, ...atSave(saving, between !== undefined)];
      const other = otherPhases.find((name) => findFirst(preset[name], line) !== undefined);
      return other === undefined ? events : [...events, ...enter(other)];
    },
  };
}

const otherPhases = ['evaluating', 'compiling', 'training'] as const;

function stepIn(preset: Preset, line: string): StepEvent | undefined {
  const groups = find(preset.step, line);
  if (groups === undefined) return undefined;
  const more: Groups = Object.assign({}, ...(preset.more ?? []).map((one) => find(one, line)));
  const counted = wholeOf(more['step']) ?? countIn(preset, groups);
  if (counted === undefined || !Number.isSafeInteger(counted)) return undefined;
  const total = totalIn(groups);
  const stepMs = durationIn({ ...groups, ...more });
  return {
    kind: 'step',
    step: counted,
    ...(total !== undefined && total >= counted && { total }),
    ...(stepMs !== undefined && { stepMs }),
  };
}

/** Steps in this epoch, and in those before it. */
function countIn({ firstEpoch }: Preset, groups: Groups): number | undefined {
  const [step, size, epoch] = [wholeOf(groups['step']), wholeOf(groups['total']), wholeOf(groups['epoch'])];
  if (step === undefined || firstEpoch === undefined || epoch === undefined) return step;
  return Math.max(0, epoch - firstEpoch) * (size ?? 0) + step;
}

/** Where an epoch is named without the number of epochs, the line's total is that of the epoch. */
function totalIn(groups: Groups): number | undefined {
  const [size, epochs] = [wholeOf(groups['total']), wholeOf(groups['epochs'])];
  if (size === undefined || groups['epoch'] === undefined) return size;
  return epochs === undefined || !Number.isSafeInteger(size * epochs) ? undefined : size * epochs;
}

function durationIn({ ms, seconds, perSecond }: Groups): number | undefined {
  const value =
    ms !== undefined ? Number(ms) : seconds !== undefined ? Number(seconds) * 1000 : 1000 / Number(perSecond ?? NaN);
  const rounded = Math.round(value * 1000) / 1000;
  return rounded > 0 && rounded <= longestStepMs ? rounded : undefined;
}

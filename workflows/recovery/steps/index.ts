/** The steps of a recovery, in order: those before a stop, then those between the stop and the next attempt. A new step is a file and a line here. */

import { approve } from './approve.ts';
import { capacity } from './capacity.ts';
import { checkpoint } from './checkpoint.ts';
import { evidence } from './evidence.ts';
import { inProcess } from './in-process.ts';
import { resize } from './resize.ts';
import { wave } from './wave.ts';
import type { CommonChange, Preparable, Step, StepRecord } from './step.ts';

const registry = [inProcess, approve, evidence, checkpoint, wave, capacity, resize] as const;

type Steps = (typeof registry)[number];
export type StepName = Steps['name'];

/** What the steps remember of an incident, by name. */
export type StepsData = { readonly [One in Steps as One['name']]: One['first'] };

/** A step of which nothing but the name is known. */
type AnyStep = Step<StepName, unknown, { readonly kind: string }>;

export const steps: readonly AnyStep[] = registry;

export const firstSteps = Object.fromEntries(registry.map(({ name, first }) => [name, first])) as StepsData;

export const stepOf = (name: StepName): AnyStep => steps.find((one) => one.name === name) as AnyStep;

/** The next step before what was decided, after `last` or from the first; undefined after the last one. */
export function nextStep(decision: Preparable, last?: StepName): StepName | undefined {
  const from = last === undefined ? 0 : steps.findIndex(({ name }) => name === last) + 1;
  return steps.slice(from).find((step) => step.before && step.appliesTo(decision))?.name;
}

export const changedStep = (data: StepsData, name: StepName, change: { readonly kind: string }): StepsData => ({
  ...data,
  [name]: stepOf(name).next(data[name], change),
});

/** After something that every step may have to follow. */
export const changedSteps = (data: StepsData, change: CommonChange): StepsData =>
  steps.reduce((after, { name }) => changedStep(after, name, change), data);

/** When the last answer was given, ms; zero without any. */
export const stepsDoneAt = (data: StepsData): number =>
  Math.max(0, ...steps.map(({ name, doneAt }) => doneAt?.(data[name]) ?? 0));

export const isAnyWaiting = (data: StepsData): boolean =>
  steps.some(({ name, isWaiting }) => isWaiting?.(data[name]) === true);

export const recordOfSteps = (data: StepsData): Partial<StepRecord> =>
  Object.assign({}, ...steps.map(({ name, record }) => record?.(data[name]) ?? {}));

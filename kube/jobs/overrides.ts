/** Parses the overrides of a job: annotations, and labels of the reference systems. They are untrusted. Pure. */

import type { V1ObjectMeta } from '@kubernetes/client-node';
import {
  type CapacityChoice,
  capacityChoices,
  checkpointStrategies,
  hangResponses,
  type JobOverrides,
  type JobSuppression,
  recoveryModes,
  referenceOverrides,
  type RestartLevel,
  restartLevels,
  slowResponses,
  overrideAnnotations,
} from '../../contract/job/job-overrides.ts';
import { routeName } from '../../contract/notify/notification.ts';
import { oneLine } from '../../contract/text.ts';
import { logChoices, logLimits } from '../../contract/progress/logs.ts';
import { readOwnPattern } from '../../faults/logs/own/own-pattern.ts';

/** An override: its key, its text, and its meaning. */
interface Stated<T> {
  readonly key: string;
  readonly text: string;
  readonly means: T;
}

type Note = (sentence: string) => void;
/** The meaning of a text, if any, or what is wrong with it. */
type Reading<T> = (text: string) => { readonly means?: T } | { readonly wrong: string };

const mostIgnored = 10;
const mostAllowedSizes = 50;

/** Undefined when the job has no overrides. */
export function overridesOf(metadata: V1ObjectMeta | undefined): JobOverrides | undefined {
  const ignored: string[] = [];
  const note: Note = (sentence) => void (ignored.length < mostIgnored && ignored.push(sentence));
  const read = readerOf(metadata, note);
  const both = <T>(ours: Stated<T> | undefined, theirs: Stated<T> | undefined) => preferred(ours, theirs, note);

  const mode = both(read.ours('mode', oneOf(recoveryModes)), read.theirs('mode', theirMode));
  const capacity = both(
    read.ours('capacity', oneOf(capacityChoices)),
    read.theirs('elastic', switchFor<CapacityChoice>('shrink')),
  );
  const level = both(read.ours('level', oneOf(restartLevels)), read.theirs('podLevel', switchFor<RestartLevel>('pod')));
  const retries = both(read.ours('retries', wholeNumber(0, 100)), read.theirs('retries', wholeNumber(0, 100)));
  const least = both(
    read.ours('minReplicas', wholeNumber(1, 100_000)),
    read.theirs('minReplicas', wholeNumber(1, 100_000)),
  );
  const hang = read.ours('hang', oneOf(hangResponses))?.means;
  const slow = read.ours('slow', oneOf(slowResponses))?.means;
  const suppression = read.ours('suppression', suppressionOf)?.means;
  const notify = read.ours('notify', routeNames)?.means;
  const checkpoint = inTime(read.ours('checkpoint', oneOf(checkpointStrategies)), mode, note);
  const logFormat = read.ours('logFormat', oneOf(logChoices))?.means;
  const logStep = read.ours('logStep', pattern('step'));
  const logCheckpoint = read.ours('logCheckpoint', pattern('checkpoint'));
  const listed = read.ours('allowedSizes', sizes);
  // An unusable value about sizes was meant to exclude some: as it is unknown which, all smaller ones are excluded.
  const isUnclear =
    read.isWrong(overrideAnnotations.allowedSizes) ||
    (!least && [overrideAnnotations.minReplicas, referenceOverrides.minReplicas].some(read.isWrong));
  const allowedSizes = isUnclear ? [] : largeEnough(listed, least, note);

  const overrides = {
    ...(mode && { mode: mode.means }),
    ...(checkpoint && { checkpoint: checkpoint.means }),
    ...(capacity && { capacity: capacity.means }),
    ...(least && { minReplicas: least.means }),
    ...(allowedSizes && { allowedSizes }),
    ...(level && { level: level.means }),
    ...(hang && { hang }),
    ...(slow && { slow }),
    ...(retries && { retries: retries.means }),
    ...(suppression && { suppression }),
    ...(notify && { notify }),
    ...(logFormat && { logFormat }),
    ...(logStep && { logStep: logStep.means }),
    ...(logCheckpoint && { logCheckpoint: logCheckpoint.means }),
  };
  return Object.keys(overrides).length === 0 && ignored.length === 0 ? undefined : { ...overrides, ignored };
}

function readerOf({ annotations = {}, labels = {} }: V1ObjectMeta = {}, note: Note) {
  const wrong = new Set<string>();
  function read<T>(key: string, text: string | undefined, reading: Reading<T>): Stated<T> | undefined {
    if (text === undefined) return undefined;
    const understood = reading(text.trim());
    if ('wrong' in understood) {
      wrong.add(key);
      note(`${key} ${quoted(text)} ${understood.wrong}`);
    } else if (understood.means !== undefined) return { key, text, means: understood.means };
    return undefined;
  }
  return {
    ours: <T>(name: keyof typeof overrideAnnotations, reading: Reading<T>) =>
      read(overrideAnnotations[name], annotations[overrideAnnotations[name]], reading),
    theirs: <T>(name: keyof typeof referenceOverrides, reading: Reading<T>) =>
      read(
        referenceOverrides[name],
        labels[referenceOverrides[name]] ?? annotations[referenceOverrides[name]],
        reading,
      ),
    isWrong: (key: string): boolean => wrong.has(key),
  };
}

/** Ours take precedence; a contradiction is noted. */
function preferred<T>(ours: Stated<T> | undefined, theirs: Stated<T> | undefined, note: Note): Stated<T> | undefined {
  if (ours && theirs && ours.means !== theirs.means)
    note(`${theirs.key} ${quoted(theirs.text)} contradicts ${ours.key} ${quoted(ours.text)}, which counts`);
  return ours ?? theirs;
}

/** With mode force the trainer has no time to save. */
function inTime<T>(
  checkpoint: Stated<T> | undefined,
  mode: Stated<unknown> | undefined,
  note: Note,
): Stated<T> | undefined {
  if (checkpoint?.means !== 'on-termination' || mode?.means !== 'force') return checkpoint;
  note(
    `${checkpoint.key} ${quoted(checkpoint.text)} contradicts ${mode.key} ${quoted(mode.text)}, which leaves no time to save`,
  );
  return undefined;
}

/** Empty where the two exclude each other: then only the present size is allowed. */
function largeEnough(
  allowedSizes: Stated<readonly number[]> | undefined,
  least: Stated<number> | undefined,
  note: Note,
): readonly number[] | undefined {
  if (!allowedSizes || !least) return allowedSizes?.means;
  const [small] = allowedSizes.means.filter((size) => size < least.means);
  if (small !== undefined)
    note(
      `${allowedSizes.key} ${quoted(allowedSizes.text)} contradicts ${least.key} ${quoted(least.text)}, so smaller sizes are ignored`,
    );
  return allowedSizes.means.filter((size) => size >= least.means);
}

const oneOf =
  <T extends string>(values: readonly T[]): Reading<T> =>
  (text) => {
    const means = values.find((value) => value === text);
    return means === undefined ? { wrong: `is none of ${values.join(', ')}` } : { means };
  };

const theirMode: Reading<(typeof recoveryModes)[number]> = (text) =>
  text === 'external-grace' || text === 'external-force'
    ? { wrong: 'leaves stopping to another system, which is not supported' }
    : oneOf(recoveryModes)(text);

/** `off` requests nothing. */
const switchFor =
  <T>(means: T): Reading<T> =>
  (text) =>
    text === 'on' ? { means } : text === 'off' ? {} : { wrong: 'is neither on nor off' };

const wholeNumber =
  (least: number, most: number): Reading<number> =>
  (text) => {
    const means = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    return means >= least && means <= most ? { means } : { wrong: `is no whole number from ${least} to ${most}` };
  };

/** The agent uses it on lines of logs, so it is refused here where its time is not bounded. */
const pattern =
  (group: 'step' | 'checkpoint'): Reading<string> =>
  (text) => {
    if (text.length > logLimits.pattern) return { wrong: `has more than ${logLimits.pattern} characters` };
    const read = readOwnPattern(text, group);
    return read.kind === 'pattern' ? { means: text } : { wrong: `cannot be used as a pattern: ${read.because}` };
  };

/** `8,4,2`, in any order. */
const sizes: Reading<readonly number[]> = (text) => {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length > mostAllowedSizes || !parts.every((part) => /^[1-9]\d{0,5}$/.test(part)))
    return { wrong: 'is no list of numbers of pods, such as 8,4,2' };
  return { means: [...new Set(parts.map(Number))].toSorted((a, b) => b - a) };
};

const mostRoutes = 5;

/** `team-a, chat`. Which routes there are, only the worker knows. */
const routeNames: Reading<readonly string[]> = (text) => {
  const names = text.split(',').map((name) => name.trim());
  return names.length <= mostRoutes && names.every((name) => routeName.test(name))
    ? { means: [...new Set(names)] }
    : { wrong: `is no list of at most ${mostRoutes} routes, such as team-a,chat` };
};

const mostCodes = 20;

/** `xid/94,pod/exit until 2026-12-01T00:00:00Z: reason` */
const suppressionOf: Reading<JobSuppression> = (text) => {
  const [, list = '', until = '', reason = ''] =
    /^([a-z0-9/*,_-]{1,500}) {1,5}until {1,5}([\dTZ:.+-]{10,35}): (.{1,200})$/i.exec(text.slice(0, 800)) ?? [];
  const codes = list.split(',');
  const isUsable =
    codes.length <= mostCodes &&
    codes.every((code) => /^[a-z-]{1,20}\/(?:[\w-]{1,40}|[\w-]{0,40}\*)$/.test(code)) &&
    !Number.isNaN(Date.parse(until));
  return isUsable
    ? { means: { codes, until, reason: oneLine(reason, 200) } }
    : { wrong: 'is no suppression, such as xid/94 until 2026-12-01T00:00:00Z: a known bug' };
};

/** At most 40 characters of it, on one line. */
function quoted(text: string): string {
  const line = text.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
  return `"${line.length > 40 ? `${line.slice(0, 39)}…` : line}"`;
}

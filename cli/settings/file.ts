/** Reads the settings file of a role. Reports all problems at once, each with its position in the file. */

import { readFile } from 'node:fs/promises';
import { isMap, isNode, isPair, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import type { Document, Node, Pair, YAMLError } from 'yaml';
import type { z } from 'zod';
import { KcoverError } from '../../contract/errors.ts';
import { agentSettings, controllerSettings, workerSettings } from '../../contract/settings/settings.schema.ts';
import { isReferenceAgent, referenceAgent } from '../../contract/settings/reference-agent.schema.ts';
import { readOwnPattern } from '../../faults/logs/own/own-pattern.ts';
import { Findings } from '../program/exit.ts';
import { type SettingsProblem, type TextRange, pointAt } from './place.ts';
import { explainIssue } from './problem.ts';
import type { Schema } from './fields.ts';

export const roles = ['worker', 'controller', 'agent'] as const;
export type RoleName = (typeof roles)[number];
export const isRole = (text: string): text is RoleName => roles.some((role) => role === text);

/** Where the schema alone cannot tell: patterns have a syntax of their own. */
const checkedController = controllerSettings.superRefine(({ progress: { logs } }, found) => {
  for (const group of ['step', 'checkpoint'] as const) {
    const read = logs[group] === undefined ? undefined : readOwnPattern(logs[group], group);
    if (read?.kind !== 'refused') continue;
    const path = ['progress', 'logs', group];
    const remedy = `write literal text, classes such as [0-9], and one group: 'at (?<${group}>[0-9]+)'`;
    found.addIssue({
      code: 'custom',
      path,
      message: `must be a pattern that kcover can use: ${read.because}`,
      params: { remedy },
    });
  }
});

export const settingsSchemas = {
  worker: workerSettings,
  controller: checkedController,
  agent: agentSettings,
} as const satisfies Record<RoleName, Schema>;
export type Settings<R extends RoleName> = z.output<(typeof settingsSchemas)[R]>;

export interface ReadSettings<R extends RoleName> {
  readonly settings: Settings<R>;
  readonly schema: Schema;
  /** The parsed file, without defaults. */
  readonly written: unknown;
}

const mostBytes = 1_000_000;

/** The settings in `file`; all defaults without a file. Throws `settings.invalid` with all problems. */
export async function readSettings<R extends RoleName>(role: R, file: string | undefined): Promise<ReadSettings<R>> {
  return parseSettings(role, file ?? '', file === undefined ? '' : await textOf(file));
}

async function textOf(file: string): Promise<string> {
  try {
    const text = await readFile(file, 'utf8');
    if (text.length <= mostBytes) return text;
  } catch (error) {
    const why =
      error instanceof Error && 'code' in error && error.code === 'ENOENT'
        ? 'there is no such file'
        : String(error instanceof Error ? error.message : error);
    throw new KcoverError('settings.invalid', `${file}: ${why}`, {
      what: 'the settings file cannot be read',
      remedy: 'name another file with --config',
    });
  }
  throw new KcoverError('settings.invalid', `${file} is larger than ${mostBytes} bytes`, {
    what: 'the settings file cannot be read',
    remedy: 'name another file with --config',
  });
}

export function parseSettings<R extends RoleName>(role: R, file: string, text: string): ReadSettings<R> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const show = (finding: SettingsProblem) => pointAt({ file, text, lines }, finding);
  const flaws = [...document.errors, ...document.warnings];
  if (flaws.length > 0)
    throw new Findings(
      'settings.invalid',
      flaws.map((flaw) => show(explainFlaw(flaw, text))),
    );

  /** The value as the schema has it; throws all problems, each with its position. */
  const checked = (schema: z.ZodType, value: unknown): unknown => {
    const result = schema.safeParse(value, { reportInput: true });
    if (result.success) return result.data;
    const findings = result.error.issues.flatMap((issue) =>
      explainIssue(schema, issue, (path, at) => placeOf(document, path, at)),
    );
    throw new Findings('settings.invalid', findings.toSorted((a, b) => a.place.start - b.place.start).map(show));
  };
  const given = contentOf(document, show);
  const written = role === 'agent' && isReferenceAgent(given) ? checked(referenceAgent, given) : given;
  const schema = settingsSchemas[role];
  return { settings: checked(schema, written ?? {}) as Settings<R>, schema, written };
}

function contentOf(document: Document, show: (finding: SettingsProblem) => string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    // An alias without an anchor, or aliases that expand to too much.
    const because = error instanceof Error ? error.message : String(error);
    throw new Findings('settings.invalid', [
      show({ what: because, place: firstAlias(document), remedy: 'write the value out' }),
    ]);
  }
}

function firstAlias(document: Document): TextRange {
  let place: TextRange = { start: 0, end: 1 };
  visit(document, {
    Alias: (_, alias) => {
      place = rangeOf(alias);
      return visit.BREAK;
    },
  });
  return place;
}

function explainFlaw({ code, message, pos: [start, end] }: YAMLError, text: string): SettingsProblem {
  const place = { start, end: Math.max(end, start + 1) };
  if (code === 'DUPLICATE_KEY') {
    const key = /^[^\s:,}]*/.exec(text.slice(start, start + 200))?.[0] ?? '';
    return {
      what: 'this key is set twice',
      place: { start, end: start + Math.max(1, key.length) },
      remedy: 'keep one of them',
    };
  }
  return {
    what: `this is not YAML: ${message}`,
    place,
    remedy: 'quote text that holds : # or brackets, and indent with spaces',
  };
}

/** Position of the key or value of a path; of a missing key, the position of its parent. */
function placeOf(document: Document, path: readonly PropertyKey[], at: 'key' | 'value'): TextRange {
  let node: unknown = document.contents;
  let pair: Pair | undefined;
  for (const segment of path) {
    const found: Pair | undefined = isMap(node)
      ? node.items.find(({ key }) => keyText(key) === String(segment))
      : undefined;
    if (!found) return rangeOf(pair?.key ?? document.contents);
    pair = found;
    node = found.value;
  }
  return rangeOf(at === 'key' || !hasRange(node) ? (pair?.key ?? node) : node);
}

const keyText = (key: unknown): string => (isScalar(key) ? String(key.value) : String(key));

const hasRange = (node: unknown): node is Node =>
  isNode(node) && node.range !== undefined && node.range !== null && node.range[1] > node.range[0];

function rangeOf(node: unknown): TextRange {
  const target = isPair(node) ? node.key : node;
  return hasRange(target) && target.range ? { start: target.range[0], end: target.range[1] } : { start: 0, end: 1 };
}

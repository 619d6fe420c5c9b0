/** Describes one problem that the schema has found. */

import type { z } from 'zod';
import { nearest } from '../program/nearest.ts';
import { type Schema, peel, shapeOf, typeOf, written } from './fields.ts';
import type { SettingsProblem, TextRange } from './place.ts';

export type Locate = (path: readonly PropertyKey[], at: 'key' | 'value') => TextRange;

export function explainIssue(schema: Schema, issue: z.core.$ZodIssue, locate: Locate): readonly SettingsProblem[] {
  const { path } = issue;
  const name = path.map(String).join('.');
  const expected = schemaAt(schema, path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) =>
        unknownKey([...path, key], Object.keys((expected && shapeOf(expected)) ?? {}), locate),
      );
    case 'invalid_key':
      return [
        {
          what: `${name} is not a valid key here`,
          place: locate(path, 'key'),
          remedy: messageOf(issue.issues[0]?.message ?? issue.message),
        },
      ];
    default:
      if (issue.input === undefined)
        return [
          {
            what: `${name} is missing`,
            place: locate(path, 'key'),
            remedy: `${String(path.at(-1))}: ${example(expected)}`,
          },
        ];
      return [
        {
          what: `${name === '' ? 'the file' : name} ${demandOf(issue, expected)}`,
          place: locate(path, 'value'),
          remedy: adviceFor(issue, expected, path),
        },
      ];
  }
}

function unknownKey(path: readonly PropertyKey[], known: readonly string[], locate: Locate): SettingsProblem {
  const key = String(path.at(-1));
  const close = nearest(key, known);
  return {
    what: `${path.map(String).join('.')} is not a setting`,
    place: locate(path, 'key'),
    remedy: close === undefined ? `one of ${known.join(', ')}` : close,
  };
}

/** `must be ...` */
function demandOf(issue: z.core.$ZodIssue, expected: Schema | undefined): string {
  if (issue.message.startsWith('must be')) return issue.message;
  return expected ? `must be ${typeOf(expected)}` : issue.message;
}

function adviceFor(issue: z.core.$ZodIssue, expected: Schema | undefined, path: readonly PropertyKey[]): string {
  if (issue.code === 'custom' && typeof issue.params?.['remedy'] === 'string') return issue.params['remedy'];
  if (issue.code === 'invalid_value' && typeof issue.input === 'string') {
    const close = nearest(issue.input, issue.values.map(String));
    if (close !== undefined) return close;
  }
  return path.length === 0
    ? 'KEY: VALUE on each line, or an empty file for all defaults'
    : `${String(path.at(-1))}: ${example(expected)}`;
}

/** A valid value. */
function example(schema: Schema | undefined): string {
  if (!schema) return '...';
  const { schema: inner, byDefault } = peel(schema);
  const definition = inner._zod.def;
  if (definition.type === 'enum')
    return written(byDefault ?? Object.values((definition as z.core.$ZodEnumDef).entries)[0]);
  if (typeof byDefault === 'object' || definition.type === 'object')
    return `{ ${Object.keys(shapeOf(schema) ?? {})
      .map((key) => `${key}: ...`)
      .join(', ')} }`;
  return byDefault === undefined ? typeOf(schema) : written(byDefault);
}

function schemaAt(schema: Schema, path: readonly PropertyKey[]): Schema | undefined {
  let at: Schema | undefined = schema;
  for (const segment of path) at = at && below(at, String(segment));
  return at;
}

function below(schema: Schema, key: string): Schema | undefined {
  const definition = peel(schema).schema._zod.def;
  if (definition.type === 'record') return (definition as z.core.$ZodRecordDef).valueType;
  const shape = shapeOf(schema);
  return shape && Object.hasOwn(shape, key) ? shape[key] : undefined;
}

const messageOf = (message: string): string => message.replace(/^must be /, '');

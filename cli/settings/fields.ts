/** Reads a settings schema: every key with its type, default and description, and the effective settings in the form of a file. */

import { z } from 'zod';
import { parseDuration } from '../../contract/settings/duration.ts';

/** A schema of any shape. */
export type Schema = z.core.$ZodType;

/** One key that a file may set. */
export interface Field {
  /** `recovery.budget.window`, as segments. */
  readonly path: readonly string[];
  /** `duration`, `whole number`, `one of observe, act`, ... */
  readonly type: string;
  /** As written in a file; undefined when it has none. */
  readonly byDefault: unknown;
  readonly describe: string | undefined;
}

interface Peeled {
  readonly schema: Schema;
  readonly byDefault: unknown;
  readonly describe: string | undefined;
}

/** Unwraps defaults, optionals and transformations; the outermost default and description count. */
export function peel(schema: Schema): Peeled {
  let inner = schema;
  let byDefault: unknown;
  let describe = describeOf(schema);
  for (;;) {
    const definition = inner._zod.def;
    if (definition.type === 'default' || definition.type === 'prefault') {
      const wrapped = definition as z.core.$ZodDefaultDef;
      byDefault ??= wrapped.defaultValue;
      inner = wrapped.innerType;
    } else if (definition.type === 'optional') {
      inner = (definition as z.core.$ZodOptionalDef).innerType;
    } else if (definition.type === 'pipe') {
      inner = (definition as z.core.$ZodPipeDef).in;
    } else {
      return { schema: inner, byDefault, describe };
    }
    describe ??= describeOf(inner);
  }
}

const describeOf = (schema: Schema): string | undefined => z.globalRegistry.get(schema)?.description;

/** The keys of an object schema; undefined for anything else. */
export function shapeOf(schema: Schema): Readonly<Record<string, Schema>> | undefined {
  const { schema: inner } = peel(schema);
  return inner._zod.def.type === 'object' ? (inner._zod.def as z.core.$ZodObjectDef).shape : undefined;
}

/** Every leaf below the schema, in the order of the schema. */
export function fieldsOf(
  schema: Schema,
  path: readonly string[] = [],
  parent?: Pick<Field, 'byDefault' | 'describe'>,
): readonly Field[] {
  const shape = shapeOf(schema);
  const own = peel(schema);
  // A key without a description has that of its group, and a default of the group takes precedence over that of the key.
  const byDefault = parent?.byDefault ?? own.byDefault;
  const describe = own.describe ?? parent?.describe;
  if (!shape) return [{ path, type: typeOf(schema), byDefault, describe }];
  return Object.entries(shape).flatMap(([key, below]) =>
    fieldsOf(below, [...path, key], { byDefault: valueAt(byDefault, key), describe }),
  );
}

const valueAt = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;

/** What a value must be, in words. */
export function typeOf(schema: Schema): string {
  const { schema: inner, byDefault } = peel(schema);
  const definition = inner._zod.def;
  switch (definition.type) {
    case 'object':
      return 'a mapping';
    case 'enum':
      return `one of ${Object.values((definition as z.core.$ZodEnumDef).entries).join(', ')}`;
    case 'boolean':
      return 'true or false';
    case 'number':
      return numberType(inner);
    case 'record':
      return `a mapping to ${typeOf((definition as z.core.$ZodRecordDef).valueType)}`;
    case 'array':
      return `a list; each ${typeOf((definition as z.core.$ZodArrayDef).element)}`;
    case 'string':
      return typeof byDefault === 'string' && isDurationSchema(schema) ? 'a duration' : 'text';
    default:
      return definition.type;
  }
}

function numberType(schema: Schema): string {
  const { type, minimum, maximum } = z.toJSONSchema(schema);
  const kind = type === 'integer' ? 'a whole number' : 'a number';
  const most = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  const least = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined;
  if (least !== undefined && most !== undefined) return `${kind} from ${least} to ${most}`;
  return least === undefined ? kind : `${kind}, at least ${least}`;
}

/** A duration is text in the file and a number in the program. */
function isDurationSchema(schema: Schema): boolean {
  const { byDefault } = peel(schema);
  const parsed = z.safeParse(schema, undefined);
  return (
    parsed.success &&
    typeof parsed.data === 'number' &&
    typeof byDefault === 'string' &&
    parseDuration(byDefault) === parsed.data
  );
}

/** A value as it is written in a file, on one line. */
export const written = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The effective settings in the form of a file: the written values, and defaults for all other keys. */
export function effectiveSettings(schema: Schema, written: unknown): unknown {
  const shape = shapeOf(schema);
  const { byDefault } = peel(schema);
  const value = written ?? byDefault;
  if (!shape) return value;
  const entries = Object.entries(shape).map(
    ([key, below]) => [key, effectiveSettings(below, valueAt(value, key))] as const,
  );
  return Object.fromEntries(entries.filter(([, each]) => each !== undefined));
}

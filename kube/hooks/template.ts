/** Reads and fills the templates of hooks. */

import { open } from 'node:fs/promises';
import { parse } from 'yaml';
import { KcoverError } from '../../contract/errors.ts';
import type { HookRequest } from '../../contract/remedy/remedy.ts';
import {
  jobTemplate,
  type JobTemplate,
  objectTemplate,
  type ObjectTemplate,
  templateBytes,
} from '../../contract/remedy/templates.schema.ts';
import { oneLine } from '../../contract/text.ts';

/** Throws `settings.invalid` for a file that cannot be read or used. */
export const readJobTemplate = (file: string): Promise<JobTemplate> => readTemplate(file, jobTemplate);
export const readObjectTemplate = (file: string): Promise<ObjectTemplate> => readTemplate(file, objectTemplate);

interface Schema<T> {
  safeParse(value: unknown):
    | { readonly success: true; readonly data: T }
    | {
        readonly success: false;
        readonly error: {
          readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
        };
      };
}

async function readTemplate<T>(file: string, schema: Schema<T>): Promise<T> {
  const invalid = (because: string) =>
    new KcoverError('settings.invalid', `the template ${file} ${oneLine(because, 300)}`, {
      remedy: 'correct the template; docs/remediation.md has examples',
    });
  let value: unknown;
  try {
    value = parse(await textOf(file));
  } catch (error) {
    throw invalid(`cannot be read: ${error instanceof Error ? error.message : 'unknown failure'}`);
  }
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw invalid(`cannot be used: ${issue?.path.map(String).join('.')}: ${issue?.message}`);
}

async function textOf(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(templateBytes + 1), 0, templateBytes + 1, 0);
    if (bytesRead > templateBytes) throw new Error(`it has more than ${templateBytes} bytes`);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** The same value with `{node}` and `{operation}` replaced in its strings; keys stay. */
export function filled<T>(value: T, { node, operation }: Pick<HookRequest, 'node' | 'operation'>): T {
  const fill = (part: unknown): unknown => {
    if (typeof part === 'string') return part.replaceAll('{node}', node).replaceAll('{operation}', operation);
    if (Array.isArray(part)) return part.map(fill);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, inside]) => [key, fill(inside)]));
  };
  return fill(value) as T;
}

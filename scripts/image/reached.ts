/** Files of the built program that given commands load, and packages that those import. */

import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync } from 'oxc-parser';

export interface ReachedFiles {
  /** Relative to dist/. */
  readonly files: ReadonlySet<string>;
  readonly packages: ReadonlySet<string>;
}

/** An entry point of an image. */
interface EntryPoint {
  readonly dist: string;
  readonly entry: string;
  /** Whether the dynamic imports of a file belong to the image. */
  readonly followsDynamic: (file: string) => boolean;
}

export function reachedFrom({ dist, entry, followsDynamic }: EntryPoint): ReachedFiles {
  const files = new Set<string>();
  const packages = new Set<string>();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    if (!file.endsWith('.js')) continue;
    for (const specifier of importsOf(file, readFileSync(join(dist, file), 'utf8'), followsDynamic(file))) {
      if (specifier.startsWith('.')) waiting.push(posix.join(posix.dirname(file), specifier));
      else if (!specifier.startsWith('node:')) packages.add(packageOf(specifier));
    }
  }
  return { files, packages };
}

function importsOf(file: string, text: string, withDynamic: boolean): readonly string[] {
  const { module, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  const still = module.staticImports.map(({ moduleRequest }) => moduleRequest.value);
  const again = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
  );
  const dynamic = module.dynamicImports.map(({ moduleRequest: { start, end } }) =>
    literal(file, text.slice(start, end)),
  );
  return [...still, ...again, ...(withDynamic ? dynamic : [])];
}

/** A computed specifier cannot be followed, and an image without the module would fail at run time. */
function literal(file: string, source: string): string {
  const [, specifier] = /^['"]([^'"]+)['"]$/.exec(source) ?? [];
  if (specifier === undefined) throw new Error(`${file} imports ${source}, which is not a plain text`);
  return specifier;
}

const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

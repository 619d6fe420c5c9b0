/** The files of the repository, and their imports. */

import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

const notOurs = new Set(['node_modules', 'dist', 'coverage', '.git', '.testbed']);

const walk = (directory: string): string[] =>
  readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    if (notOurs.has(entry.name)) return [];
    const path = posix.join(directory, entry.name);
    return entry.isDirectory() ? walk(path) : entry.isFile() ? [path] : [];
  });

/** Every file of the repository, relative to its root. */
export const files: readonly string[] = walk('.').toSorted();

export const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Every TypeScript file. */
export const sources: readonly string[] = files.filter((file) => file.endsWith('.ts'));

export const folderOf = (file: string): string => file.split('/')[0] ?? '';

export interface Import {
  /** A path from the root for our own files, else the name of a package, such as `node:fs` or `@temporalio/client`. */
  readonly what: string;
  readonly ours: boolean;
  /** `import type`, which is removed at run time. */
  readonly typeOnly: boolean;
}

const statement = /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

export function importsOf(file: string, text: string): Import[] {
  return [...text.matchAll(statement)].map(([, type, still, dynamic]) => {
    const specifier = still ?? dynamic ?? '';
    const ours = specifier.startsWith('.');
    return {
      what: ours ? posix.join(posix.dirname(file), specifier) : packageOf(specifier),
      ours,
      typeOnly: type !== undefined,
    };
  });
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier;
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

/** The code without comments; good enough to be searched, not to be run. */
export const codeOf = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The repository root, which is the build context. */
export const context = join(import.meta.dirname, '../..');

/** A cache key for everything that a build reads from the repository. */
export function keyOfContext(): string {
  const given = readFileSync(join(context, '.dockerignore'), 'utf8')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
  const hash = createHash('sha256');
  for (const file of ['Dockerfile', ...given].flatMap(filesBelow))
    hash.update(`${file}\0`).update(readFileSync(join(context, file)));
  return hash.digest('hex').slice(0, 12);
}

const filesBelow = (path: string): readonly string[] =>
  statSync(join(context, path)).isDirectory()
    ? readdirSync(join(context, path), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(context.length + 1))
        .toSorted()
    : [path];

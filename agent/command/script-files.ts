/** The checks in a directory: executable files that only their owner can change, because they run with the rights of the agent. */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface ScriptFiles {
  readonly names: readonly string[];
  /** Why one of the files is not run. */
  readonly refused?: string | undefined;
}

/** A node that needs more has a wrong directory mounted. */
const mostScripts = 32;

const bits = { execute: 0o111, othersWrite: 0o022 } as const;

/** In the order of their names. Files of a ConfigMap are links, so links are followed. Throws where the directory cannot be read. */
export async function listScripts(directory: string, wanted: (name: string) => boolean): Promise<ScriptFiles> {
  const all = (await readdir(directory)).filter(wanted).toSorted();
  const names: string[] = [];
  let refused = all.length > mostScripts ? `${directory} has more than ${mostScripts} files` : undefined;
  for (const name of all.slice(0, mostScripts)) {
    const stats = await stat(join(directory, name)).catch(() => undefined);
    if (stats === undefined || !stats.isFile()) continue;
    if ((stats.mode & bits.othersWrite) !== 0) refused ??= `${name}: others than its owner may change it`;
    else if ((stats.mode & bits.execute) === 0) refused ??= `${name}: it is not executable`;
    else names.push(name);
  }
  return { names, refused };
}

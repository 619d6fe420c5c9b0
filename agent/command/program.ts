/** Whether there is a program at a path of the agent's own file system. */

import { stat } from 'node:fs/promises';
import { systemErrorCode } from '../system-error.ts';

/** Asks why there is no program, as long as none was seen; undefined from then on, because a call of one that has gone fails by itself. */
export function missingUntilSeen(path: string): () => Promise<string | undefined> {
  let wasSeen = false;
  return async () => {
    const missing = await missingProgram(path);
    wasSeen ||= missing === undefined;
    return wasSeen ? undefined : missing;
  };
}

/** Undefined where there is one; otherwise why not, in words. Throws what else the file system answers. */
async function missingProgram(path: string): Promise<string | undefined> {
  if (path === '') return 'the settings name no program';
  try {
    const stats = await stat(path);
    return stats.isFile() ? undefined : `${path} is not a file`;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return `there is no ${path}`;
    throw error;
  }
}

/** Whether there is a program at a path of the agent's own file system. */

import { stat } from 'node:fs/promises';
import { systemErrorCode } from '../system-error.ts';

/** Says why there is no program, until one was seen: from then on one that is absent is an error of its next call, and no answer here. */
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

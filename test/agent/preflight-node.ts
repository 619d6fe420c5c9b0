/** The directory of a node into which containers write their files. */

import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { preflightDirectory } from '../../contract/preflight/preflight.ts';

/** What a preflight container writes. */
export const rawReport = (more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    version: 1,
    workload: 'llm',
    workload_size: 4,
    rank: 0,
    node_name: 'gpu-3',
    node_ip: '10.0.0.3',
    gpu_check: 1,
    storage_check: 1,
    batches: [],
    ...more,
  });

export interface PreflightNode {
  readonly hostRoot: string;
  /** Path on this machine of a name below the directory of the files. */
  path(name: string): string;
  /** Creates a complete file atomically, with a time of writing in the past. */
  report(name: string, text?: string, writtenAt?: string): Promise<void>;
  remove(): Promise<void>;
}

/** For preflight reports by default. */
export async function preflightNode(directory = preflightDirectory): Promise<PreflightNode> {
  const hostRoot = await mkdtemp(join(tmpdir(), 'kcover-preflight-'));
  await mkdir(join(hostRoot, dirname(directory)), { recursive: true });
  const path = (name: string): string => join(hostRoot, directory, name);
  return {
    hostRoot,
    path,
    async report(name, text = rawReport(), writtenAt = '2026-11-21T07:00:00.250Z') {
      const file = path(name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(`${file}.new`, text);
      await utimes(`${file}.new`, new Date(writtenAt), new Date(writtenAt));
      await rename(`${file}.new`, file);
    },
    remove: () => rm(hostRoot, { recursive: true, force: true }),
  };
}

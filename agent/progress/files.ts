/** The progress files of trainers on this node. */

import { progressDirectory, type ProgressFile, progressFileBytes } from '../../contract/progress/progress.ts';
import { readProgress, type ReadProgress } from '../../faults/progress/progress-file.ts';
import { listRankFiles, type RankFile, type RankListing, readRankFile, writtenAtOf } from '../files/rank-files.ts';

export type ProgressContent =
  | { readonly kind: 'file'; readonly file: ProgressFile }
  | Extract<ReadProgress, { kind: 'unusable' }>;

/** Where the files are found and read. */
export interface TrainerFiles {
  /** Throws `refused` when the directory cannot be read. */
  list(): Promise<RankListing>;
  /** `changed`: it was written in the meantime. Throws `refused` or `not-found`. */
  read(file: RankFile): Promise<ProgressContent | 'changed'>;
}

const tooLarge: ProgressContent = {
  kind: 'unusable',
  what: 'content',
  because: `it has more than ${progressFileBytes} bytes`,
};

async function readOne(hostRoot: string, file: RankFile): Promise<ProgressContent | 'changed'> {
  const read = await readRankFile(hostRoot, progressDirectory, file, progressFileBytes);
  if (read === 'changed') return 'changed';
  if (read.text === undefined) return tooLarge;
  const found = readProgress(read.text);
  if (found.kind === 'unusable') return found;
  const { namespace, workload: job, rank } = file;
  return { kind: 'file', file: { namespace, job, rank, writtenAt: writtenAtOf(file), progress: found.progress } };
}

export const trainerFiles = (hostRoot: string): TrainerFiles => ({
  list: () => listRankFiles(hostRoot, progressDirectory),
  read: (file) => readOne(hostRoot, file),
});

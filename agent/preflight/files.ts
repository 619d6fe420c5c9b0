/** The report files of preflight containers on this node. */

import { preflightDirectory, preflightLimits } from '../../contract/preflight/preflight.ts';
import type { PreflightFile } from '../../contract/preflight/files.ts';
import { oneLine } from '../../contract/text.ts';
import { readReport, reportProfiles } from '../../faults/preflight/report.ts';
import { listRankFiles, type RankFile, type RankListing, readRankFile, writtenAtOf } from '../files/rank-files.ts';

/** Where the files are found and read. */
export interface ReportFiles {
  /** Throws `refused` when the directory cannot be read. */
  list(): Promise<RankListing>;
  /** `changed`: it was written in the meantime. Throws `refused` or `not-found`. */
  read(file: RankFile): Promise<PreflightFile | 'changed'>;
}

type Content =
  | Pick<Extract<PreflightFile, { report: unknown }>, 'report'>
  | Pick<Extract<PreflightFile, { problem: unknown }>, 'problem'>;

const tooLarge: Content = {
  problem: { field: 'too-large', because: `it has more than ${preflightLimits.fileBytes} bytes` },
};

function contentOf(text: string | undefined): Content {
  if (text === undefined) return tooLarge;
  const read = readReport(text, reportProfiles.live);
  return read.kind === 'report'
    ? { report: read.report }
    : { problem: { field: read.field, because: oneLine(read.because, preflightLimits.because) } };
}

/** A file that is skipped, because the agent ended each time it read it. */
export const skippedFile = (file: RankFile): PreflightFile => ({
  ...placeOf(file),
  problem: {
    field: 'parse',
    because: 'not read: the agent of the node ended twice while it read this file; write it again',
  },
});

const placeOf = (file: RankFile): Pick<PreflightFile, 'namespace' | 'workload' | 'rank' | 'writtenAt'> => {
  const { namespace, workload, rank } = file;
  return { namespace, workload, rank, writtenAt: writtenAtOf(file) };
};

async function readOne(hostRoot: string, file: RankFile): Promise<PreflightFile | 'changed'> {
  const read = await readRankFile(hostRoot, preflightDirectory, file, preflightLimits.fileBytes);
  if (read === 'changed') return 'changed';
  return { ...placeOf(file), ...contentOf(read.text) };
}

export const reportFiles = (hostRoot: string): ReportFiles => ({
  list: () => listRankFiles(hostRoot, preflightDirectory),
  read: (file) => readOne(hostRoot, file),
});

/** Reads the files of `kcover preflight judge`: raw or compacted reports, or one vector. */

import { readFile } from 'node:fs/promises';
import { KcoverError } from '../../contract/errors.ts';
import type { PreflightReport } from '../../contract/preflight/preflight.ts';
import { parseReportJson } from '../../faults/preflight/json.ts';
import { readReport, type ReportProfile } from '../../faults/preflight/report.ts';
import { isVector, readVector, type Vector } from '../../policy/preflight/vector.ts';

/** A file and the JSON value in it. */
export interface JsonFile {
  readonly file: string;
  readonly value: unknown;
}

/** Throws `file.unreadable` for the first file that does not exist or is not JSON. */
export const readFiles = (files: readonly string[]): Promise<readonly JsonFile[]> =>
  Promise.all(files.map(async (file) => ({ file, value: parsed(file, await textOf(file)) })));

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw unusable(file, code === 'ENOENT' ? 'there is no such file' : wordsOf(error), 'name a file that can be read');
  }
}

function parsed(file: string, text: string): unknown {
  try {
    return parseReportJson(text);
  } catch (error) {
    throw unusable(file, `parse: ${wordsOf(error)}`, 'is it cut off? look at the preflight container that wrote it');
  }
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const unusable = (file: string, because: string, advice: string): KcoverError =>
  new KcoverError('file.unreadable', `${file}: ${because}`, {
    what: 'a preflight file cannot be used',
    remedy: advice,
  });

/** The vector, when there is one file and it contains one. Throws when one of several files contains a vector, or when it cannot be replayed. */
export function vectorOf(files: readonly JsonFile[]): Vector | undefined {
  const found = files.find(({ value }) => isVector(value));
  if (found === undefined) return undefined;
  if (files.length > 1)
    throw unusable(found.file, 'it is a vector, and a vector is judged alone', `kcover preflight judge ${found.file}`);
  const read = readVector(found.value);
  if (read.kind === 'vector') return read.vector;
  throw unusable(found.file, read.because, 'each step holds one of report, reportText and sweep');
}

export interface Reports {
  readonly size: number;
  /** In the order of ranks. */
  readonly reports: readonly PreflightReport[];
}

/** The reports of one run, one in each file. Throws for a report that cannot be used or belongs to another run. */
export function reportsOf(files: readonly JsonFile[], profile: ReportProfile): Reports {
  const reports: PreflightReport[] = [];
  const written = new Map<string, string>();
  for (const { file, value } of files) {
    const read = readReport(value, profile);
    if (read.kind === 'problem')
      throw unusable(file, `${read.field}: ${read.because}`, 'correct it, or leave the file out');
    const { report } = read;
    const { size } = reports[0] ?? report;
    if (report.size !== size)
      throw unusable(
        file,
        `layout: it is of ${report.size} ranks, ${files[0]?.file} of ${size}`,
        'judge one run at a time',
      );
    const key = `rank ${report.rank} on ${report.node}`;
    const other = written.get(key);
    if (other !== undefined) throw unusable(file, `it is of ${key}, and so is ${other}`, 'leave out the older one');
    written.set(key, file);
    reports.push(report);
  }
  const [first] = reports;
  if (first === undefined)
    throw new KcoverError('usage', 'there is no report', { remedy: 'kcover preflight judge job-0.json job-1.json' });
  return { size: first.size, reports: reports.toSorted((a, b) => a.rank - b.rank) };
}

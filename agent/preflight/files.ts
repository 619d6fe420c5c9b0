/** The report files of preflight containers on this node. Tenants write there: what is listed and read is bounded, and no link is followed. */

import type { Stats } from 'node:fs';
import { KcoverError } from '../../contract/errors.ts';
import { preflightDirectory, type PreflightFile, preflightLimits } from '../../contract/preflight.ts';
import { oneLine } from '../../faults/one-line.ts';
import { readReport, reportProfiles } from '../../faults/preflight-report.ts';
import { listHostDirectory, openHostFile, readAtMost } from '../host-root.ts';

/** A report file as it was listed. */
export interface ReportFile {
  /** `<namespace>/<workload>-<rank>.json` */
  readonly key: string;
  readonly namespace: string;
  readonly workload: string;
  readonly rank: number;
  /** Another one whenever the file was written. */
  readonly version: string;
  /** When it was last written, the node's clock, ms. */
  readonly writtenMs: number;
}

export interface ReportListing {
  /** The newest of each namespace first. */
  readonly files: readonly ReportFile[];
  /** What stands there and is no report, or is one too many. */
  readonly ignored: number;
}

/** Where the files are found and read. */
export interface ReportFiles {
  /** Throws `refused` when the directory cannot be looked at. */
  list(): Promise<ReportListing>;
  /** `changed`: it was written meanwhile. Throws `refused` or `not-found`. */
  read(file: ReportFile): Promise<PreflightFile | 'changed'>;
}

/** More files than names are wanted of a namespace, so that the newest are among them when old ones pile up. */
const most = { namespaces: 1000, names: 10_000, files: 1000 } as const;

const label = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const namespaceName = new RegExp(`^(?=.{1,63}$)${label}$`);
const fileName = new RegExp(`^(?<workload>${label}(?:\\.${label})*)-(?<rank>0|[1-9]\\d{0,3})\\.json$`);
/** RFC 3339 has no years above 9999; a file can say that it was written then. */
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');

const versionOf = ({ mtimeMs, ctimeMs, size }: Stats): string => `${mtimeMs}/${ctimeMs}/${size}`;

function reportFile(namespace: string, name: string, stats: Stats): ReportFile | undefined {
  const { workload, rank } = fileName.exec(name)?.groups ?? {};
  if (workload === undefined || !stats.isFile()) return undefined;
  return { key: `${namespace}/${name}`, namespace, workload, rank: Number(rank), version: versionOf(stats), writtenMs: stats.mtimeMs };
}

async function listNamespace(hostRoot: string, namespace: string): Promise<ReportListing> {
  const isReport = (name: string): boolean => fileName.test(name);
  const { entries, more, others } = await listHostDirectory(hostRoot, `${preflightDirectory}/${namespace}`, most.names, isReport);
  const files = entries
    .map(({ name, stats }) => reportFile(namespace, name, stats))
    .filter((file) => file !== undefined)
    .toSorted((one, other) => other.writtenMs - one.writtenMs)
    .slice(0, most.files);
  return { files, ignored: others + entries.length - files.length + Number(more) };
}

async function listReports(hostRoot: string): Promise<ReportListing> {
  const files: ReportFile[] = [];
  // A name that no namespace has takes the place of none.
  const isNamespace = (name: string): boolean => namespaceName.test(name);
  const { entries, more, others } = await listHostDirectory(hostRoot, preflightDirectory, most.namespaces, isNamespace);
  let ignored = others + Number(more);
  for (const { name, stats } of entries) {
    // One that cannot be read, or is gone by now, hides no other.
    const found = stats.isDirectory() ? await listNamespace(hostRoot, name).catch(() => undefined) : undefined;
    files.push(...(found?.files ?? []));
    ignored += found?.ignored ?? 1;
  }
  return { files, ignored };
}

type Content = Pick<Extract<PreflightFile, { report: unknown }>, 'report'> | Pick<Extract<PreflightFile, { problem: unknown }>, 'problem'>;

const tooLarge: Content = { problem: { field: 'too-large', because: `it has more than ${preflightLimits.fileBytes} bytes` } };

function contentOf(text: string | undefined): Content {
  if (text === undefined) return tooLarge;
  const read = readReport(text, reportProfiles.live);
  return read.kind === 'report' ? { report: read.report } : { problem: { field: read.field, because: oneLine(read.because, preflightLimits.because) } };
}

async function readOne(hostRoot: string, file: ReportFile): Promise<PreflightFile | 'changed'> {
  const opened = await openHostFile(hostRoot, `${preflightDirectory}/${file.key}`);
  try {
    const before = await opened.stat();
    if (versionOf(before) !== file.version) return 'changed';
    const text = before.size > preflightLimits.fileBytes ? undefined : await readAtMost(opened, before.size);
    if (versionOf(await opened.stat()) !== file.version) return 'changed';
    const { namespace, workload, rank, writtenMs } = file;
    const writtenAt = new Date(Math.min(Math.max(0, writtenMs), lastMs)).toISOString();
    return { namespace, workload, rank, writtenAt, ...contentOf(text) };
  } finally {
    await opened.close();
  }
}

export const reportFiles = (hostRoot: string): ReportFiles => ({
  list: () =>
    listReports(hostRoot).catch((error: unknown) => {
      // Normal before the first preflight container of the node.
      if (error instanceof KcoverError && error.code === 'not-found') return { files: [], ignored: 0 };
      throw error;
    }),
  read: (file) => readOne(hostRoot, file),
});

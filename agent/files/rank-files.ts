/** Files that containers write on this node, one for each rank. Tenants write there, so listing and reading are bounded, and no link is followed. */

import type { Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { KcoverError } from '../../contract/errors.ts';
import { type HostListing, listHostDirectory, openHostFile, readAtMost } from '../host-root.ts';

/** A listed file. */
export interface RankFile {
  /** `<namespace>/<workload>-<rank>.json` */
  readonly key: string;
  readonly namespace: string;
  readonly workload: string;
  readonly rank: number;
  /** Changes with every write of the file. */
  readonly version: string;
  /** When it was last written, the node's clock, ms. */
  readonly writtenMs: number;
}

export interface RankListing {
  /** Newest first; at most 200 of a namespace and 20,000 in total. */
  readonly files: readonly RankFile[];
  /** Entries that are no such file, or exceed the limit. */
  readonly ignored: number;
}

/** Content of a file that has not changed since it was listed. */
export interface RankFileText {
  /** Undefined when it is too long. */
  readonly text: string | undefined;
}

/**
 * More names than files are read in a namespace, so that the newest are among them when old ones accumulate. `all`: files of all namespaces;
 * at about 1 KiB of state each they use a tenth of the agent's memory.
 */
const most = { namespaces: 1000, names: 10_000, files: 200, all: 20_000 } as const;

const label = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const namespaceName = new RegExp(`^(?=.{1,63}$)${label}$`);
const fileName = new RegExp(`^(?<workload>${label}(?:\\.${label})*)-(?<rank>0|[1-9]\\d{0,3})\\.json$`);
/** RFC 3339 has no years above 9999, but a file can have such a time. */
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');

const versionOf = ({ mtimeMs, ctimeMs, size }: Stats): string => `${mtimeMs}/${ctimeMs}/${size}`;

/** RFC 3339, ms. */
export const writtenAtOf = ({ writtenMs }: RankFile): string =>
  new Date(Math.min(Math.max(0, writtenMs), lastMs)).toISOString();

function rankFile(namespace: string, name: string, stats: Stats): RankFile | undefined {
  const { workload, rank } = fileName.exec(name)?.groups ?? {};
  if (workload === undefined || !stats.isFile()) return undefined;
  return {
    key: `${namespace}/${name}`,
    namespace,
    workload,
    rank: Number(rank),
    version: versionOf(stats),
    writtenMs: stats.mtimeMs,
  };
}

const newest = (files: readonly RankFile[], count: number): readonly RankFile[] =>
  files.toSorted((one, other) => other.writtenMs - one.writtenMs).slice(0, count);

async function listNamespace(hostRoot: string, directory: string, namespace: string): Promise<RankListing> {
  const isRankFile = (name: string): boolean => fileName.test(name);
  const { entries, more, others } = await listHostDirectory(
    hostRoot,
    `${directory}/${namespace}`,
    most.names,
    isRankFile,
  );
  const found = entries.map(({ name, stats }) => rankFile(namespace, name, stats)).filter((file) => file !== undefined);
  const files = newest(found, most.files);
  return { files, ignored: others + entries.length - files.length + Number(more) };
}

/** Until a container of the node writes files, only the parent directory exists. Without that one nothing is mounted, and no file would ever be found. */
async function nothingYet(hostRoot: string, directory: string): Promise<HostListing> {
  const above = dirname(directory);
  await listHostDirectory(hostRoot, above, 0).catch((error: unknown) => {
    const advice = `mount ${above} of the node at ${join(hostRoot, above)}`;
    if (!(error instanceof KcoverError) || error.code !== 'not-found') throw error;
    throw new KcoverError('refused', `${join(hostRoot, above)} is not there: ${advice}`, {
      remedy: advice,
      cause: error,
    });
  });
  return { entries: [], more: false, others: 0 };
}

/** The files below `directory`. Throws `refused` when it cannot be read. */
export async function listRankFiles(hostRoot: string, directory: string): Promise<RankListing> {
  // Names that are no valid namespace do not use up the limit.
  const isNamespace = (name: string): boolean => namespaceName.test(name);
  const { entries, more, others } = await listHostDirectory(hostRoot, directory, most.namespaces, isNamespace).catch(
    (error: unknown) => {
      if (error instanceof KcoverError && error.code === 'not-found') return nothingYet(hostRoot, directory);
      throw error;
    },
  );
  let files: readonly RankFile[] = [];
  let seen = 0;
  let ignored = others + Number(more);
  for (const { name, stats } of entries) {
    // A directory that cannot be read, or is gone, does not hide others.
    const found = stats.isDirectory()
      ? await listNamespace(hostRoot, directory, name).catch(() => undefined)
      : undefined;
    seen += found?.files.length ?? 0;
    ignored += found?.ignored ?? 1;
    // Keeps at most twice the limit, and sorts only when that is reached.
    files = files.concat(found?.files ?? []);
    if (files.length > 2 * most.all) files = newest(files, most.all);
  }
  files = newest(files, most.all);
  return { files, ignored: ignored + seen - files.length };
}

/** Its text, up to so many bytes. `changed`: it was written in the meantime. Throws `refused` or `not-found`. */
export async function readRankFile(
  hostRoot: string,
  directory: string,
  file: RankFile,
  bytes: number,
): Promise<RankFileText | 'changed'> {
  const opened = await openHostFile(hostRoot, `${directory}/${file.key}`);
  try {
    const before = await opened.stat();
    if (versionOf(before) !== file.version) return 'changed';
    const text = before.size > bytes ? undefined : await readAtMost(opened, before.size);
    return versionOf(await opened.stat()) === file.version ? { text } : 'changed';
  } finally {
    await opened.close();
  }
}

/** Reads the files one after the other until `signal`: the disk gets no second call while one hangs. */
export async function inTurn<T>(
  files: readonly RankFile[],
  signal: AbortSignal,
  read: (file: RankFile) => Promise<T | undefined>,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (const file of files) {
    if (signal.aborted) break;
    const one = await read(file);
    if (one !== undefined) found.push(one);
  }
  return found;
}

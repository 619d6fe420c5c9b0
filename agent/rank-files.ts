/** Files that containers leave on this node, one of each rank. Tenants write there: what is listed and read is bounded, and no link is followed. */

import type { Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { KcoverError } from '../contract/errors.ts';
import { type HostListing, listHostDirectory, openHostFile, readAtMost } from './host-root.ts';

/** A file as it was listed. */
export interface RankFile {
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

export interface RankListing {
  /** The newest first; at most 200 of a namespace and 20,000 of all. */
  readonly files: readonly RankFile[];
  /** What stands there and is no such file, or is one too many. */
  readonly ignored: number;
}

/** What a file held when it was as it was listed. */
export interface RankFileText {
  /** Undefined when it is too long. */
  readonly text: string | undefined;
}

/**
 * More names than files are wanted of a namespace, so that the newest are among them when old ones pile up. `all`: files of all namespaces;
 * with what is remembered of each, about 1 KiB, they take a tenth of the memory that the agent has.
 */
const most = { namespaces: 1000, names: 10_000, files: 200, all: 20_000 } as const;

const label = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const namespaceName = new RegExp(`^(?=.{1,63}$)${label}$`);
const fileName = new RegExp(`^(?<workload>${label}(?:\\.${label})*)-(?<rank>0|[1-9]\\d{0,3})\\.json$`);
/** RFC 3339 has no years above 9999; a file can say that it was written then. */
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');

const versionOf = ({ mtimeMs, ctimeMs, size }: Stats): string => `${mtimeMs}/${ctimeMs}/${size}`;

/** RFC 3339, ms. */
export const writtenAtOf = ({ writtenMs }: RankFile): string => new Date(Math.min(Math.max(0, writtenMs), lastMs)).toISOString();

function rankFile(namespace: string, name: string, stats: Stats): RankFile | undefined {
  const { workload, rank } = fileName.exec(name)?.groups ?? {};
  if (workload === undefined || !stats.isFile()) return undefined;
  return { key: `${namespace}/${name}`, namespace, workload, rank: Number(rank), version: versionOf(stats), writtenMs: stats.mtimeMs };
}

const newest = (files: readonly RankFile[], count: number): readonly RankFile[] =>
  files.toSorted((one, other) => other.writtenMs - one.writtenMs).slice(0, count);

async function listNamespace(hostRoot: string, directory: string, namespace: string): Promise<RankListing> {
  const isRankFile = (name: string): boolean => fileName.test(name);
  const { entries, more, others } = await listHostDirectory(hostRoot, `${directory}/${namespace}`, most.names, isRankFile);
  const found = entries.map(({ name, stats }) => rankFile(namespace, name, stats)).filter((file) => file !== undefined);
  const files = newest(found, most.files);
  return { files, ignored: others + entries.length - files.length + Number(more) };
}

/** Before the first container of the node has files, only the directory above is there. Without that, nothing is mounted, and nothing would ever be seen. */
async function nothingYet(hostRoot: string, directory: string): Promise<HostListing> {
  const above = dirname(directory);
  await listHostDirectory(hostRoot, above, 0).catch((error: unknown) => {
    const advice = `mount ${above} of the node at ${join(hostRoot, above)}`;
    if (!(error instanceof KcoverError) || error.code !== 'not-found') throw error;
    throw new KcoverError('refused', `${join(hostRoot, above)} is not there: ${advice}`, { remedy: advice, cause: error });
  });
  return { entries: [], more: false, others: 0 };
}

/** What lies below `directory`. Throws `refused` when it cannot be looked at. */
export async function listRankFiles(hostRoot: string, directory: string): Promise<RankListing> {
  // A name that no namespace has takes the place of none.
  const isNamespace = (name: string): boolean => namespaceName.test(name);
  const { entries, more, others } = await listHostDirectory(hostRoot, directory, most.namespaces, isNamespace).catch((error: unknown) => {
    if (error instanceof KcoverError && error.code === 'not-found') return nothingYet(hostRoot, directory);
    throw error;
  });
  let files: readonly RankFile[] = [];
  let seen = 0;
  let ignored = others + Number(more);
  for (const { name, stats } of entries) {
    // One that cannot be read, or is gone by now, hides no other.
    const found = stats.isDirectory() ? await listNamespace(hostRoot, directory, name).catch(() => undefined) : undefined;
    seen += found?.files.length ?? 0;
    ignored += found?.ignored ?? 1;
    // Never more at once than twice what is wanted, and sorted only now and then.
    files = files.concat(found?.files ?? []);
    if (files.length > 2 * most.all) files = newest(files, most.all);
  }
  files = newest(files, most.all);
  return { files, ignored: ignored + seen - files.length };
}

/** Its text, up to so many bytes. `changed`: it was written meanwhile. Throws `refused` or `not-found`. */
export async function readRankFile(hostRoot: string, directory: string, file: RankFile, bytes: number): Promise<RankFileText | 'changed'> {
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

/** What could be read of each until `signal`, one after the other: the disk gets no second call while one hangs. */
export async function inTurn<T>(files: readonly RankFile[], signal: AbortSignal, read: (file: RankFile) => Promise<T | undefined>): Promise<readonly T[]> {
  const found: T[] = [];
  for (const file of files) {
    if (signal.aborted) break;
    const one = await read(file);
    if (one !== undefined) found.push(one);
  }
  return found;
}

/** Several clusters in one command: `--context a,b=profile`. */

import { KcoverError } from '../../contract/errors.ts';
import { oneLine } from '../../contract/text.ts';
import type { NamedCluster, Session } from '../clients/session.ts';

/** What one cluster answered, or why it did not. */
export type Answer<T> = { readonly cluster: string } & ({ readonly found: T } | { readonly failure: KcoverError });

const most = 50;
const lineLength = 2000;
/** Longest time for the whole answer of one cluster, so that a slow one does not hold up the others, ms. */
const answerMs = 30_000;

/** Clusters by their context, in the order given; a context is also the name of the profile unless another one follows it. */
export function clustersIn(text: string): readonly NamedCluster[] {
  const clusters = text.split(',').map((part): NamedCluster => {
    const at = part.lastIndexOf('=');
    return at === -1 ? { context: part, profile: part } : { context: part.slice(0, at), profile: part.slice(at + 1) };
  });
  const contexts = clusters.map(({ context }) => context);
  const isUsable = clusters.every(({ context, profile }) => context !== '' && profile !== '');
  if (!isUsable || clusters.length > most || new Set(contexts).size < clusters.length)
    throw new KcoverError('usage', `--context ${text.slice(0, 200)} does not name up to ${most} different clusters`, {
      remedy: '--context a,b or, where the profile of Temporal is called otherwise, --context a,b=profile',
    });
  return clusters;
}

/** Directories of records by cluster: `a=DIR,b=DIR`. Undefined where the text has no such form, and for a path such as `/runs/day=5`. */
export function directoriesIn(text: string): ReadonlyMap<string, string> | undefined {
  const named = text.split(',').map((part) => /^([^=/.][^=]*)=(.+)$/.exec(part)?.slice(1) ?? []);
  if (named.some(([name, directory]) => name === undefined || directory === undefined)) return undefined;
  const directories = new Map(named.map(([name = '', directory = '']) => [name, directory]));
  return directories.size === named.length ? directories : undefined;
}

/** Throws `usage` where `--records` does not say which directory is of which of the clusters. */
export function recordsOf(text: string | undefined, clusters: readonly NamedCluster[]): ReadonlyMap<string, string> {
  if (text === undefined) return new Map();
  const directories = directoriesIn(text);
  const names = clusters.map(({ context }) => context);
  if (directories && [...directories.keys()].every((name) => names.includes(name))) return directories;
  throw new KcoverError('usage', `--records ${text.slice(0, 200)} does not say of which cluster a directory is`, {
    remedy: `--records ${names.map((name) => `${name}=DIR`).join(',')}`,
  });
}

/** Asks all at once. What a cluster cannot answer is its own answer; a defect of kcover is thrown. */
export const askEach = <T>(
  clusters: readonly NamedCluster[],
  session: Session,
  ask: (session: Session, cluster: string) => Promise<T>,
): Promise<readonly Answer<T>[]> =>
  Promise.all(
    clusters.map((cluster) => answerOf(cluster.context, () => inTime(ask(session.of(cluster), cluster.context)))),
  );

/** The answer, or the failure where it is one of the catalogue. */
export async function answerOf<T>(cluster: string, ask: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { cluster, found: await ask() };
  } catch (failure) {
    if (failure instanceof KcoverError) return { cluster, failure };
    throw failure;
  }
}

/** On one line, so that what a server answered cannot look like a row. */
export const failureLine = (cluster: string, { message, because, advice }: KcoverError): string =>
  oneLine(`${cluster}: ${message}: ${because}; try: ${advice}`, lineLength);

/** What JSON and YAML say of a cluster that did not answer. */
export const failureData = (cluster: string, { code, message: what, because, advice }: KcoverError): object => ({
  cluster,
  error: { code, what, because, try: advice },
});

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new KcoverError('temporal.unreachable', `no whole answer within ${answerMs / 1000} s`)),
    answerMs,
  );
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
    answer.catch(() => undefined);
  }
}

/** Checks that Temporal has kcover's search attributes, and registers them. Every role that writes them checks first. */

import type { Connection } from '@temporalio/client';
import { KcoverError } from '../../contract/errors.ts';
import { type SearchAttribute, searchAttributes } from '../../contract/ids.ts';
import { temporalError, type TemporalTarget } from '../clients/temporal.ts';

/** Numbers of Temporal's `IndexedValueType`, and their names in its command line. */
const types = { KEYWORD: { number: 2, word: 'Keyword' }, KEYWORD_LIST: { number: 7, word: 'KeywordList' } } as const;

/** gRPC codes of servers that manage search attributes elsewhere, such as Temporal Cloud. */
const notForUs = [7, 12];

type Connected = Pick<Connection, 'operatorService' | 'withDeadline'>;
type Where = Pick<TemporalTarget, 'address' | 'namespace'>;

export interface AttributeGaps {
  readonly missing: readonly SearchAttribute[];
  /** Attributes that are registered with another type. */
  readonly wrong: readonly SearchAttribute[];
  readonly because: string;
  /** Command that registers the missing ones. */
  readonly command: string;
}

const wanted = Object.keys(searchAttributes) as SearchAttribute[];

/** Missing and wrong attributes; undefined when the server does not let us list them. */
export async function searchAttributeGaps(
  connection: Connected,
  { address, namespace }: Where,
): Promise<AttributeGaps | undefined> {
  const registered = await listed(connection, namespace);
  if (registered === undefined) return undefined;
  const missing = wanted.filter((name) => registered[name] === undefined);
  const wrong = wanted.filter(
    (name) => registered[name] !== undefined && registered[name] !== types[searchAttributes[name]].number,
  );
  const flags = (names: readonly SearchAttribute[], withType: boolean): string =>
    names.map((name) => `--name ${name}${withType ? ` --type ${types[searchAttributes[name]].word}` : ''}`).join(' ');
  const command = (verb: string, rest: string): string =>
    `temporal operator search-attribute ${verb} --address ${address} --namespace ${namespace} ${rest}`;
  const remove = wrong.length > 0 ? `${command('remove', `--yes ${flags(wrong, false)}`)} && ` : '';
  return {
    missing,
    wrong,
    because: [
      ...missing.map((name) => `${name} is not registered`),
      ...wrong.map((name) => `${name} has another type`),
    ].join(', '),
    command: remove + command('create', flags([...missing, ...wrong], true)),
  };
}

/** Throws `temporal.attributes` with the command that registers missing ones. False when the server does not let us list them. */
export async function requireSearchAttributes(connection: Connected, where: Where): Promise<boolean> {
  const gaps = await searchAttributeGaps(connection, where);
  if (gaps === undefined) return false;
  if (gaps.missing.length + gaps.wrong.length === 0) return true;
  throw new KcoverError('temporal.attributes', gaps.because, {
    what: `Temporal namespace ${where.namespace} lacks search attributes`,
    remedy: gaps.command,
  });
}

/** Registers the attributes. They are usable only a moment later. */
export async function registerSearchAttributes(
  connection: Connected,
  namespace: string,
  names: readonly SearchAttribute[],
): Promise<void> {
  const attributes = Object.fromEntries(names.map((name) => [name, types[searchAttributes[name]].number]));
  try {
    await connection.withDeadline(Date.now() + 10_000, () =>
      connection.operatorService.addSearchAttributes({ namespace, searchAttributes: attributes }),
    );
  } catch (error) {
    throw temporalError(error, `register search attributes in namespace ${namespace}`);
  }
}

async function listed(connection: Connected, namespace: string): Promise<Readonly<Record<string, number>> | undefined> {
  try {
    const { customAttributes } = await connection.withDeadline(Date.now() + 10_000, () =>
      connection.operatorService.listSearchAttributes({ namespace }),
    );
    return customAttributes ?? {};
  } catch (error) {
    if (error instanceof Error && 'code' in error && notForUs.includes(Number(error.code))) return undefined;
    throw temporalError(error, `list the search attributes of namespace ${namespace}`);
  }
}

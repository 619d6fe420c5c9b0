/** Every role that writes search attributes checks first that Temporal knows them. */

import type { Connection } from '@temporalio/client';
import { KcoverError } from '../../contract/errors.ts';
import { searchAttributes } from '../../contract/ids.ts';
import { temporalError, type TemporalTarget } from '../temporal.ts';

/** Numbers of Temporal's `IndexedValueType`, and their names in its command line. */
const types = { KEYWORD: { number: 2, word: 'Keyword' }, KEYWORD_LIST: { number: 7, word: 'KeywordList' } } as const;

/** gRPC: Temporal Cloud answers so, where attributes are managed elsewhere. */
const notForUs = [7, 12];

type Connected = Pick<Connection, 'operatorService' | 'withDeadline'>;

/** Throws `temporal.attributes` with the command that registers what is missing. False when the server does not let us look. */
export async function requireSearchAttributes(connection: Connected, { address, namespace }: Pick<TemporalTarget, 'address' | 'namespace'>): Promise<boolean> {
  const registered = await listed(connection, namespace);
  if (registered === undefined) return false;
  const wanted = Object.entries(searchAttributes);
  const missing = wanted.filter(([name]) => registered[name] === undefined);
  const wrong = wanted.filter(([name, type]) => registered[name] !== undefined && registered[name] !== types[type].number);
  if (missing.length + wrong.length === 0) return true;

  const flags = (names: typeof wanted, withType: boolean): string =>
    names.map(([name, type]) => `--name ${name}${withType ? ` --type ${types[type].word}` : ''}`).join(' ');
  const command = (verb: string, rest: string): string => `temporal operator search-attribute ${verb} --address ${address} --namespace ${namespace} ${rest}`;
  const remove = wrong.length > 0 ? `${command('remove', `--yes ${flags(wrong, false)}`)} && ` : '';
  throw new KcoverError(
    'temporal.attributes',
    [...missing.map(([name]) => `${name} is not registered`), ...wrong.map(([name]) => `${name} has another type`)].join(', '),
    {
      what: `Temporal namespace ${namespace} lacks search attributes`,
      try: remove + command('create', flags([...missing, ...wrong], true)),
    },
  );
}

async function listed(connection: Connected, namespace: string): Promise<Readonly<Record<string, number>> | undefined> {
  try {
    const { customAttributes } = await connection.withDeadline(Date.now() + 10_000, () => connection.operatorService.listSearchAttributes({ namespace }));
    return customAttributes ?? {};
  } catch (error) {
    if (error instanceof Error && 'code' in error && notForUs.includes(Number(error.code))) return undefined;
    throw temporalError(error, `list the search attributes of namespace ${namespace}`);
  }
}

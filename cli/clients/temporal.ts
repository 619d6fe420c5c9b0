/** The connection to Temporal, configured like Temporal's own tools: by environment variables such as TEMPORAL_ADDRESS, or by a profile. */

import {
  Client,
  Connection,
  QueryNotRegisteredError,
  QueryRejectedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { KcoverError } from '../../contract/errors.ts';

export const connectTimeoutMs = 5000;
const callTimeoutMs = 10_000;

export const defaultAddress = 'localhost:7233';

export interface TemporalTarget {
  readonly address: string;
  readonly namespace: string;
  readonly options: ClientConnectConfig['connectionOptions'];
}

/**
 * Address and options of the server. Throws `settings.invalid` for a profile that cannot be read. A named `profile` is taken as it stands in the
 * file: a TEMPORAL_ADDRESS of the environment would lead every profile to one server.
 */
export function temporalTarget(variables: Readonly<Record<string, string>>, profile?: string): TemporalTarget {
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({
      overrideEnvVars: { ...variables },
      ...(profile !== undefined && { profile, disableEnv: true }),
    });
    const address = connectionOptions.address ?? defaultAddress;
    return { address, namespace: namespace ?? 'default', options: { ...connectionOptions, address } };
  } catch (error) {
    throw new KcoverError('settings.invalid', `Temporal's client configuration: ${wordsOf(error)}`, {
      remedy: 'look at TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE and the other TEMPORAL_ variables',
    });
  }
}

export interface TemporalConnection {
  readonly client: Client;
  close(): Promise<void>;
}

/** Connects a client; throws `temporal.unreachable` when it cannot. */
export async function connectTemporal({ address, namespace, options }: TemporalTarget): Promise<TemporalConnection> {
  try {
    const { apiKey, tls, metadata } = options;
    const connection = await Connection.connect({
      address,
      connectTimeout: connectTimeoutMs,
      ...(apiKey !== undefined && { apiKey }),
      ...(tls !== undefined && tls !== null && { tls }),
      ...(metadata !== undefined && { metadata }),
    });
    return { client: new Client({ connection, namespace }), close: () => connection.close() };
  } catch (error) {
    throw connectError(error, address);
  }
}

/** Why there is no connection. */
export function connectError(error: unknown, address: string): KcoverError {
  const words = wordsOf(error);
  return new KcoverError(
    isRefusal(error, words) ? 'temporal.refused' : 'temporal.unreachable',
    `connect to ${address}: ${words}`,
  );
}

/** Makes a call with a deadline; throws errors of the catalogue. `doing` completes "cannot ...". */
export async function askTemporal<T>(client: Client, doing: string, call: () => Promise<T>): Promise<T> {
  try {
    return await client.withDeadline(Date.now() + callTimeoutMs, call);
  } catch (error) {
    throw temporalError(error, doing);
  }
}

export function temporalError(error: unknown, doing: string): KcoverError {
  if (error instanceof KcoverError) return error;
  if (error instanceof WorkflowNotFoundError)
    return new KcoverError('not-found', `${doing}: there is no such workflow`);
  if (error instanceof WorkflowUpdateFailedError) return new KcoverError('refused', wordsOf(error));
  if (error instanceof QueryRejectedError || error instanceof QueryNotRegisteredError)
    return new KcoverError('not-found', `${doing}: it has no answer`);
  const words = wordsOf(error);
  if (/search attribute/i.test(words))
    return new KcoverError('temporal.attributes', `${doing}: ${words}`.slice(0, 300), { cause: error });
  if (isRefusal(error, words))
    return new KcoverError('temporal.refused', `${doing}: ${words}`.slice(0, 300), { cause: error });
  if (grpcCode(error) === notFound)
    return new KcoverError('not-found', `${doing}: ${words}`.slice(0, 300), { cause: error });
  const late = /deadline|timeout|timed out|cancel/i.test(`${words} ${error instanceof Error ? error.name : ''}`);
  return late
    ? new KcoverError('temporal.unreachable', `${doing}: no answer in ${callTimeoutMs / 1000} s`, {
        remedy: 'look whether Temporal and a kcover worker are running',
        cause: error,
      })
    : new KcoverError('temporal.unreachable', `${doing}: ${words}`.slice(0, 300), { cause: error });
}

const notFound = 5;
/** gRPC codes: permission denied, unauthenticated. */
const refusals: readonly unknown[] = [7, 16];

/** gRPC code of the innermost error that has one. */
function grpcCode(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined;
  return grpcCode(error.cause) ?? ('code' in error ? error.code : undefined);
}

/** The server answered with a refusal, so a retry would not help. */
function isRefusal(error: unknown, words: string): boolean {
  if (/namespace.* not found|permission ?denied|unauthenticated|unauthorized/i.test(words)) return true;
  return refusals.includes(grpcCode(error));
}

/** The message of the innermost cause: the client wraps errors of server and workflow. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? wordsOf(error.cause) : error.message;
}

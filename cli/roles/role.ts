/** What all roles share: log, metrics, health, graceful shutdown, and retries until their servers are available. */

import { setTimeout as sleep } from 'node:timers/promises';
import { destination, type Logger, pino } from 'pino';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { KcoverError } from '../../contract/errors.ts';
import { metricTable } from '../../contract/metrics/catalogue.ts';
import type { ExitName } from '../program/command.ts';
import type { CliEnvironment } from '../program/environment.ts';
import { type RoleName } from '../settings/file.ts';
import { serveHealth } from './health.ts';

export interface RoleContext {
  readonly log: Logger;
  readonly registry: Registry;
  /** Aborted by SIGTERM or SIGINT. */
  readonly stopping: AbortSignal;
  /** Sets why the role is not ready; undefined when it is. */
  readonly readiness: (why: string | undefined) => void;
  /** Adds limitations to the readiness answer that do not make the role unready. */
  readonly addRemarks: (read: () => readonly string[]) => void;
  /** Adds metrics in text form that another library provides. */
  readonly addMetrics: (render: () => Promise<string>) => void;
  /** Retries transient errors until it succeeds; other errors are thrown. Throws `StopRequested` when the role is stopped first. */
  readonly waitFor: <T>(what: string, attempt: () => Promise<T>) => Promise<T>;
}

export interface RoleSettings {
  readonly log: { readonly level: string };
  readonly health: { readonly listen: string };
}

/** The role was stopped while it waited. */
class StopRequested extends Error {}

const backOff = { firstMs: 500, mostMs: 15_000 } as const;

/** Runs a role until it ends or is stopped by a signal. Resolves to `ok` after a signal. */
export async function inRole(
  name: RoleName,
  settings: RoleSettings,
  environment: CliEnvironment,
  run: (role: RoleContext) => Promise<ExitName>,
): Promise<ExitName> {
  const log = pino(
    {
      level: settings.log.level,
      base: { role: name, version: environment.version },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    destination({ dest: 2, sync: true }),
  );
  const registry = metricsOf(name, environment.version);
  const ending = new AbortController();
  let notReady: string | undefined = 'starting';
  let remarks = (): readonly string[] => [];
  let more = (): Promise<string> => Promise.resolve('');

  const role: RoleContext = {
    log,
    registry,
    stopping: ending.signal,
    readiness: (why) => void (notReady = why),
    addRemarks: (read) => void (remarks = read),
    addMetrics: (render) => void (more = render),
    waitFor: (what, attempt) => persist(what, attempt, ending.signal, log, (why) => void (notReady = why)),
  };
  const health = await serveHealth({
    listen: settings.health.listen,
    notReady: () => notReady,
    remarks: () => remarks(),
    registry,
    more: () => more(),
  });
  const forget = onSignals((signal) => {
    log.info({ signal }, 'stopping');
    notReady = 'stopping';
    ending.abort(new StopRequested(signal));
  });
  log.info({ health: health.address }, 'starting');
  try {
    return await run(role);
  } catch (error) {
    if (error instanceof StopRequested) return 'ok';
    throw error;
  } finally {
    forget();
    await health.close();
    log.info('ended');
    leaveSoon();
  }
}

function metricsOf(name: RoleName, version: string): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({ ...metricTable.every.build, registers: [registry] }).set({ role: name, version }, 1);
  return registry;
}

function onSignals(stop: (signal: string) => void): () => void {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  for (const signal of signals) process.on(signal, stop);
  return () => signals.forEach((signal) => process.removeListener(signal, stop));
}

/** Exits after a while, because an open timer or socket of a library could keep the process of a role that has ended. */
const leaveSoon = (): void => void setTimeout(() => process.exit(), 3000).unref();

async function persist<T>(
  what: string,
  attempt: () => Promise<T>,
  stopping: AbortSignal,
  log: Logger,
  notReady: (why: string) => void,
): Promise<T> {
  for (let wait: number = backOff.firstMs; ; wait = Math.min(wait * 2, backOff.mostMs)) {
    if (stopping.aborted) throw stopping.reason;
    try {
      return await attempt();
    } catch (error) {
      if (stopping.aborted) throw stopping.reason;
      if (!(error instanceof KcoverError) || !error.transient) throw error;
      notReady(`waiting for ${what}: ${error.because}`);
      log.warn({ code: error.code, because: error.because, againInMs: wait }, `waiting for ${what}`);
    }
    await sleep(wait, undefined, { signal: stopping }).catch(() => undefined);
  }
}

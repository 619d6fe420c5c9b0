/** The response that the settings give to one fault, whatever else happened. */

import { type Fault, nodeNotReady, preflightFaults } from '../../contract/faults/faults.ts';
import { traitsOf } from '../../contract/faults/sources.ts';
import type { Effect } from '../../contract/node/history.ts';
import type { Response, WorkerSettings } from '../../contract/settings/settings.schema.ts';

/** By its code, else by its standing, else by its action; no stronger than its source and its sender allow. A code without an action only warns. */
export function responseTo(
  fault: Pick<Fault, 'code' | 'action' | 'standing' | 'untrusted'> & Partial<Pick<Fault, 'source'>>,
  settings: Pick<WorkerSettings, 'faults' | 'preflight'>,
): Response {
  const response = configuredResponse(fault, settings);
  const bySource = fault.source && traitsOf(fault.source).atMost;
  const atMost = bySource ?? (fault.untrusted ? 'ask' : undefined);
  return atMost !== undefined && strengthOf(response) > strengthOf(atMost) ? atMost : response;
}

function configuredResponse(
  fault: Pick<Fault, 'code' | 'action' | 'standing'>,
  { faults, preflight }: Pick<WorkerSettings, 'faults' | 'preflight'>,
): Response {
  const own = faults.codes[fault.code];
  if (own !== undefined) return own;
  const ofCode = responsesByCode(faults, preflight)[fault.code];
  if (ofCode !== undefined) return ofCode;
  if (fault.standing === 'retired') return faults.responses.retired;
  if (fault.standing === 'unknown') return faults.responses.unknown;
  return fault.action === undefined ? 'warn' : faults.responses[fault.action];
}

/** Codes with a setting of their own. */
const responsesByCode = (
  { responses }: WorkerSettings['faults'],
  { slow, storage, failed }: WorkerSettings['preflight'],
): Readonly<Record<string, Response>> => ({
  [nodeNotReady]: responses.notReady,
  [preflightFaults.slow]: slow,
  [preflightFaults.storage]: storage,
  [preflightFaults.gpu]: failed,
});

export const effectOf = {
  record: undefined,
  warn: 'warn',
  restart: 'restart-job',
  ask: 'ask',
  quarantine: 'quarantine',
} as const satisfies Record<Response, Effect | undefined>;

export const strength = {
  warn: 1,
  'restart-job': 2,
  ask: 3,
  quarantine: 4,
} as const satisfies Record<Effect, number>;

export const strengthOf = (response: Response): number => {
  const effect = effectOf[response];
  return effect === undefined ? 0 : strength[effect];
};

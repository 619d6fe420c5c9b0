/** What a person asks `kcover node maintain` for. Pure. */

import { KcoverError } from '../../contract/errors.ts';
import { type MaintenancePlan, whyNoWindow } from '../../contract/node/maintenance.ts';
import { parseDuration } from '../../contract/settings/duration.ts';
import type { Typed } from '../program/command.ts';

export type MaintenanceRequest =
  | { readonly kind: 'cancel'; readonly by: string; readonly reason: string }
  | { readonly kind: 'plan'; readonly plan: MaintenancePlan };

const example = 'kcover node maintain gpu-3 --from 2h --until 4h --reason "driver 580"';

/** Which nodes: names, or those that a label selector has. Exactly one of them. */
export function nodesIn(typed: Typed): { readonly names: readonly string[] } | { readonly selector: string } {
  const names = [...new Set(typed.arguments('nodes'))];
  const selector = typed.option('selector');
  if (selector === undefined && names.length > 0) return { names };
  if (selector !== undefined && names.length === 0) return { selector };
  throw new KcoverError('usage', 'it takes names of nodes, or --selector', { remedy: example });
}

export function requestIn(typed: Typed, by: string, now: number): MaintenanceRequest {
  const [from, until, reason] = ['from', 'until', 'reason'].map((name) => typed.option(name));
  if (typed.flag('cancel')) {
    if (from !== undefined || until !== undefined || typed.flag('replace'))
      throw new KcoverError('usage', '--cancel goes without --from, --until and --replace', {
        remedy: 'kcover node maintain gpu-3 --cancel',
      });
    return { kind: 'cancel', by, reason: reason ?? 'cancelled' };
  }
  if (from === undefined || until === undefined || reason === undefined || reason === '')
    throw new KcoverError('usage', 'it takes --from, --until and --reason, or --cancel', { remedy: example });
  const plan = { by, reason, from: timeIn('--from', from, now), until: timeIn('--until', until, now) };
  const because = whyNoWindow(plan, now);
  if (because !== undefined)
    throw new KcoverError('usage', `--from ${from} --until ${until}: ${because}`, { remedy: example });
  return { kind: 'plan', plan };
}

/** A duration from now, or a time with its zone: without one it would mean another time on another machine. */
function timeIn(option: string, text: string, now: number): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return now + ms;
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : NaN;
  if (!Number.isNaN(at)) return at;
  throw new KcoverError('usage', `${option} ${text} is neither a duration nor a time with its zone`, {
    remedy: `${option} 30m, or ${option} 2026-12-01T06:00:00Z`,
  });
}

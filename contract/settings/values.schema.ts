/** Value types of settings. */

import { z } from 'zod';
import { defaultTaskQueue, quarantineTaintKey } from '../ids.ts';
import { formatDuration, parseDuration } from './duration.ts';

const dayMs = 86_400_000;

/** Longest duration by default, ms. With jitter it still fits into a timer of Node (2^31 - 1 ms), which fires at once beyond that. */
export const longestWaitMs = 20 * dayMs;

/** Longest duration for values that are compared with a date and need no timer, ms: well within the range of dates. */
export const longestAgeMs = 3650 * dayMs;

/** A duration setting, up to `most` ms: text in the file, milliseconds in the program. */
export const duration = (byDefault: string, most = longestWaitMs) =>
  z
    .string()
    .refine((text) => parseDuration(text) !== undefined, { error: 'must be a duration such as 500ms, 30s, 10m or 1h' })
    .transform((text) => parseDuration(text) ?? 0)
    .refine((ms) => ms <= most, {
      error: `must be at most ${formatDuration(most)}`,
      params: { remedy: formatDuration(most) },
    })
    .prefault(byDefault);

/** How long something is kept: a duration, or `forever`, which is infinite in the program. */
export const age = (byDefault: string) =>
  z
    .string()
    .refine((text) => ageOf(text) !== undefined, { error: 'must be a duration such as 30d, or forever' })
    .transform((text) => ageOf(text) ?? 0)
    .refine((ms) => ms === Infinity || ms <= longestAgeMs, {
      error: `must be at most ${formatDuration(longestAgeMs)}, or forever`,
      params: { remedy: 'forever' },
    })
    .prefault(byDefault);

const ageOf = (text: string): number | undefined => (text.trim() === 'forever' ? Infinity : parseDuration(text));

/** A regular expression that does not match the empty text: such a one would match everywhere. */
export const pattern = z
  .string()
  .refine((text) => isPattern(text), { error: 'must be a regular expression that does not match the empty text' });

function isPattern(text: string): boolean {
  try {
    return !new RegExp(text, 'u').test('');
  } catch {
    return false;
  }
}

/** A code, or the begin of one. */
export const codePattern = z.string().regex(/^[a-z-]{1,20}\/(?:[\w-]{1,40}|[\w-]{0,40}\*)$/, {
  error: 'must be a code such as xid/79, or the begin of one such as xid/*',
});

/** `host:port`. */
export const listen = (byDefault: string) =>
  z
    .string()
    .regex(/^[^\s:]*:\d{1,5}$/, { error: 'must be host:port, such as 127.0.0.1:9090' })
    .default(byDefault);

/** Address of probes and metrics of a controller or worker; the agent has a port of its own. */
export const health = z.strictObject({ listen: listen('0.0.0.0:9090') }).prefault({});
export const log = z.strictObject({ level: z.enum(['debug', 'info', 'warn', 'error']).default('info') }).prefault({});

export const labelKey = z
  .string()
  .regex(/^([a-z0-9.-]+\/)?[A-Za-z0-9][\w.-]{0,62}$/, { error: 'must be a Kubernetes label key' });

/** The quarantine taint. */
export const taint = z
  .strictObject({
    key: labelKey.default(quarantineTaintKey).describe('Key of the quarantine taint'),
    value: z.string().max(63).optional().describe('Value of the taint; without it the reason, such as xid-79'),
    effect: z.enum(['NoSchedule', 'NoExecute', 'PreferNoSchedule']).default('NoSchedule'),
  })
  .prefault({});

/** What workers and controllers need to know of Temporal beside its address. */
export const temporal = z
  .strictObject({ taskQueue: z.string().min(1).max(200).default(defaultTaskQueue) })
  .prefault({});

/** Kinds of values that settings have. */

import { z } from 'zod';
import { formatDuration, parseDuration } from './duration.ts';

/** A duration setting: text in the file, milliseconds in the program. */
export const duration = (byDefault: string, most = Infinity) =>
  z
    .string()
    .refine((text) => parseDuration(text) !== undefined, { error: 'must be a duration such as 500ms, 30s, 10m or 1h' })
    .transform((text) => parseDuration(text) ?? 0)
    .refine((ms) => ms <= most, { error: `must be at most ${formatDuration(most)}` })
    .prefault(byDefault);

/** A regular expression that matches something: one that matches nothing at all would match everywhere. */
export const pattern = z.string().refine((text) => isPattern(text), { error: 'must be a regular expression that does not match the empty text' });

function isPattern(text: string): boolean {
  try {
    return !new RegExp(text, 'u').test('');
  } catch {
    return false;
  }
}

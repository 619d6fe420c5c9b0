/** Strings that arrive from nodes and pods: bounded in length, and text is one plain line. */

import { z } from 'zod';

/** RFC 3339. */
export const time = z.iso.datetime({ offset: true }).max(40);

/** One line without control characters, text-direction marks and lone surrogates: at most three bytes for each character in JSON. */
export const plainLine = (length: number) =>
  z
    .string()
    .max(length)
    .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]*$/u, 'is not one plain line');

/** Machine-made ids of boots, streams and devices. */
export const identifier = (length: number) =>
  z
    .string()
    .max(length)
    .regex(/^[\w.:-]*$/, 'is no identifier');

/** Strings that arrive from nodes and pods: each has a length, and text is one plain line. */

import { z } from 'zod';

/** RFC 3339. */
export const time = z.iso.datetime({ offset: true }).max(40);

/** One line of text without control characters, text-direction marks and halves of characters: in JSON it has at most three bytes for each of its characters. */
export const plainLine = (length: number) =>
  z
    .string()
    .max(length)
    .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]*$/u, 'is not one plain line');

/** What no person writes: ids of boots, streams and devices. */
export const identifier = (length: number) =>
  z
    .string()
    .max(length)
    .regex(/^[\w.:-]*$/, 'is no identifier');

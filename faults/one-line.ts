/**
 * Text from outside as one harmless line: no control characters (terminals, logs), no text-direction marks (a line that reads
 * differently than it is), no broken surrogates (JSON), at most `most` characters.
 */
export const oneLine = (text: string, most: number): string =>
  text
    .slice(0, most)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]+/gu, ' ')
    .trim();

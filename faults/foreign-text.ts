import { oneLine } from '../contract/text.ts';
import { builtInPatterns } from './redaction/built-in.ts';
import { lineLength, redactLines } from './redaction/log.ts';

/**
 * What a tenant, or a program of one, wrote (a termination message, a condition that quotes it) as a part of our own sentence: secrets hidden,
 * one harmless line of at most `most` characters. Whatever goes from there to Events, histories, records and logs is clean.
 */
export const foreignText = (text: string, most = 1000): string =>
  oneLine(
    redactLines(text.slice(0, lineLength).split(/\r\n?|\n/), builtInPatterns)
      .lines.join(' ')
      .replace(/\s+/g, ' '),
    most,
  );

import { oneLine } from '../contract/text.ts';
import { builtInPatterns } from './redaction/built-in.ts';
import { lineLength, redactLines } from './redaction/log.ts';

/**
 * Untrusted text (a termination message, a condition that quotes it) for use in a message of ours: secrets redacted, one line of at most
 * `most` characters without control characters. So Events, histories, records and logs contain only clean text.
 */
export const foreignText = (text: string, most = 1000): string =>
  oneLine(
    redactLines(text.slice(0, lineLength).split(/\r\n?|\n/), builtInPatterns)
      .lines.join(' ')
      .replace(/\s+/g, ' '),
    most,
  );

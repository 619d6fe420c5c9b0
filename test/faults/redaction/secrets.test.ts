import { describe, expect, it } from '@jest/globals';
import { builtInPatterns } from '../../../faults/redaction/built-in.ts';
import { redactLines } from '../../../faults/redaction/log.ts';
import { ordinaryLines } from './ordinary.ts';
import { shapes } from './secrets.ts';

const left = (lines: readonly string[]): string => redactLines(lines, builtInPatterns).lines.join('\n');

describe('a secret is hidden', () => {
  it.each(shapes)('%s', (_, lines, secrets) => {
    const text = left(lines);
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    expect(text).toContain('[redacted: ');
  });

  it('in more shapes than were once counted', () => {
    expect(shapes.length).toBeGreaterThanOrEqual(127);
  });
});

describe('what training prints stays byte for byte', () => {
  it.each(ordinaryLines)('%s', (line) => {
    expect(left([line])).toBe(line);
  });

  it('also as one log, where each line follows others', () => {
    expect(ordinaryLines.length).toBeGreaterThanOrEqual(100);
    expect(left(ordinaryLines).split('\n')).toEqual(ordinaryLines);
  });
});

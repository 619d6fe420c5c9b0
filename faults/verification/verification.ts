/** What a test of a machine says. Its output is untrusted, and what it does not say is never a pass. */

import type { HookResult } from '../../contract/remedy/remedy.ts';
import { foreignText } from '../foreign-text.ts';

export interface Verification {
  readonly verdict: HookResult['verdict'];
  readonly because: string;
  /** How many GPUs were tested, where the output says so. */
  readonly devices?: number;
}

export interface VerificationOptions {
  /** Exit code of the tool, where it says something. */
  readonly exitCode?: number;
  /** Least bus bandwidth, GB/s. */
  readonly atLeast?: number;
}

export type VerificationReader = (text: string, options: VerificationOptions) => Verification;

/** Most characters of an output that are read. */
export const verificationLimit = 4 * 1024 * 1024;

const becauseLength = 500;

export const verified = (verdict: Verification['verdict'], because: string, devices?: number): Verification => ({
  verdict,
  because: foreignText(because, becauseLength),
  ...(devices !== undefined && { devices }),
});

/** A few of many, in words. */
export const few = (texts: readonly string[], most = 3): string =>
  [...texts.slice(0, most), ...(texts.length > most ? [`${texts.length - most} more`] : [])].join('; ');

/** Lines of the output, cut to a length that regular expressions may read. */
export const verificationLines = (text: string): readonly string[] =>
  text.split('\n', 50_000).map((line) => line.slice(0, 500).replace(/\r$/, ''));

/** A JSON object, also where a tool prints lines before it; undefined for anything else. */
export function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const at = text.indexOf('{');
  if (at < 0) return undefined;
  try {
    return record(JSON.parse(text.slice(at)));
  } catch {
    return undefined;
  }
}

/** The same value where it is an object, and nothing else. */
export const record = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;

/** The objects of a list; empty for anything else. */
export const records = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.map(record).filter((each) => each !== undefined) : [];

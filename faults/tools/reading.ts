/** What the output of a tool says, and how findings of tools are made. */

import { faultLimits } from '../../contract/faults/faults.ts';
import { type FaultSource, traitsOf } from '../../contract/faults/sources.ts';
import { oneLine } from '../../contract/text.ts';
import type { Finding, Findings, Unobserved } from '../finding.ts';

export interface ToolReading extends Findings {
  /** Devices that the output describes. None: the tool did not say anything about a device. */
  readonly devices: number;
}

/** Most characters of an output that are read; `nvidia-smi -q -x` prints about 1.5 million for 16 GPUs. */
export const outputLimit = 4 * 1024 * 1024;

const mostLines = 50_000;
const lineLength = 1000;

/** The lines of an output, cut to a length that regular expressions may read. */
export const linesOf = (text: string): readonly string[] =>
  text
    .slice(0, outputLimit)
    .split('\n', mostLines)
    .map((line) => line.slice(0, lineLength).replace(/\r$/, ''));

export interface Found {
  readonly source: FaultSource;
  readonly code: string;
  readonly device?: string | undefined;
  readonly message: string;
  readonly because: string;
  readonly standing?: 'unknown';
  /** It may be so without a fault, which only an earlier look could tell: it has no action, and only warns. */
  readonly oneLook?: true;
}

/** A finding with the action that the table of its source has for its code. */
export function toolFinding({ source, code, device, message, because, standing, oneLook }: Found): Finding {
  const action = oneLook ? undefined : traitsOf(source).actions?.[code];
  return {
    source,
    code,
    ...(device !== undefined && { device }),
    ...(action !== undefined && { action }),
    ...(standing !== undefined && { standing }),
    message: oneLine(message, faultLimits.message),
    because,
  };
}

/** The answer to an output that says nothing about its devices. */
export const nothingRead = (source: FaultSource, what: string, because: string): ToolReading => ({
  devices: 0,
  faults: [],
  unobservable: [{ source, what, because: oneLine(because, 300) }],
});

/** A name of a device that may be reported: tools print what drivers and firmware give them. */
export const deviceName = (text: string): string | undefined => (/^[\w.:-]{1,64}$/.test(text) ? text : undefined);

/** Findings and what is unobservable, of several parts. */
export const together = (
  parts: readonly Findings[],
): { faults: readonly Finding[]; unobservable: readonly Unobserved[] } => ({
  faults: parts.flatMap(({ faults }) => faults),
  unobservable: parts.flatMap(({ unobservable }) => unobservable),
});

/** Text of others, as the fields of a report need it. */

import { type ExternalReport, externalLimits, type UnusableReport } from '../../contract/wire/external.ts';
import { isObjectName } from '../../contract/object-names.ts';
import { oneLine } from '../../contract/text.ts';

/** What a message in the format of others says. */
export interface MappedReports {
  readonly reports: readonly ExternalReport[];
  readonly unusable: readonly UnusableReport[];
}

/** `GPU fell off!` -> `GPU-fell-off`; empty when nothing of it can be part of a code. */
export const codeIn = (text: string): string => identifierIn(text, /[^\w.-]+/g, externalLimits.code);

export const sourceIn = (text: string): string => identifierIn(text, /[^\w.:-]+/g, externalLimits.source) || 'unknown';

export const deviceIn = (text: string): string => identifierIn(text, /[^\w.:-]+/g, externalLimits.device);

const identifierIn = (text: string, others: RegExp, most: number): string =>
  text
    .slice(0, most * 2)
    .replace(others, ' ')
    .trim()
    .replaceAll(' ', '-')
    .slice(0, most);

/** Why no report can be made of it; undefined when one can. */
export function whyUnusable(node: string | undefined, code: string): string | undefined {
  if (node === undefined || node === '') return 'it names no node';
  if (!isObjectName(node)) return `${JSON.stringify(oneLine(node, 80))} is no name of a node`;
  return code === '' ? 'it has no code' : undefined;
}

/** At most as many as one request may have; the rest is counted as unusable. */
export function atMost({ reports, unusable }: MappedReports): MappedReports {
  const left = reports.length - externalLimits.reports;
  if (left <= 0) return { reports, unusable };
  const because = `one message may have ${externalLimits.reports} reports, and this has ${reports.length}`;
  return {
    reports: reports.slice(0, externalLimits.reports),
    unusable: [...unusable, ...Array.from({ length: left }, () => ({ what: 'report', because }))],
  };
}

/** Reads the report of a preflight container, raw or compacted, by the rules of any version. */

import {
  addressPattern,
  nodePattern,
  preflightLimits,
  type PreflightCheck,
  preflightChecks,
  type PreflightReport,
  type ReportProblem,
} from '../../contract/preflight/preflight.ts';
import { parseReportJson } from './json.ts';
import { numberOfText, tooLong } from './number.ts';
import { mostGbps, type ReportProfile } from './profile.ts';
import { readTests } from './tests.ts';
import { Unusable } from './unusable.ts';

export { busbw } from './tests.ts';
export { type ProfileName, profileNames, type ReportProfile, reportProfiles } from './profile.ts';

export type ReadReport =
  | { readonly kind: 'report'; readonly report: PreflightReport }
  | ({ readonly kind: 'problem' } & ReportProblem);

/**
 * The report in `source`, JSON text or a parsed value, by the rules of the profile; or the first unusable field, in the order in which the
 * reference project checks them. No number of the result is infinite or NaN. The caller bounds the length of the text.
 */
export function readReport(source: unknown, profile: ReportProfile): ReadReport {
  try {
    return { kind: 'report', report: reportOf(typeof source === 'string' ? parsed(source) : source, profile) };
  } catch (error) {
    if (error instanceof Unusable) return { kind: 'problem', ...error.problem };
    throw error;
  }
}

function parsed(text: string): unknown {
  try {
    return parseReportJson(text);
  } catch {
    throw new Unusable('parse', 'it is not JSON');
  }
}

type Fields = Readonly<Record<string, unknown>>;

function reportOf(value: unknown, profile: ReportProfile): PreflightReport {
  if (typeof value !== 'object' || Array.isArray(value)) throw new Unusable('parse', 'it is not a JSON object');
  const fields: Fields = { ...value };
  const head = headOf(fields, profile);
  const failed = checksOf(fields);
  // The rest of such a report is ignored.
  if (failed.length > 0) return { ...head, failed, tests: [] };
  const threshold = thresholdOf(fields, profile);
  const tests = readTests(fields['batches'], {
    profile,
    size: head.size,
    address: head.address,
    threshold: threshold ?? profile.threshold,
  });
  return { ...head, ...(threshold !== undefined && { threshold: finite(threshold) }), tests };
}

function headOf(fields: Fields, profile: ReportProfile): Pick<PreflightReport, 'size' | 'rank' | 'node' | 'address'> {
  const size = integer(fields, 'workload_size');
  const rank = integer(fields, 'rank');
  const [node, address] = [text(fields, 'node_name'), text(fields, 'node_ip')];
  for (const name of ['version', 'gpu_check', 'storage_check']) integer(fields, name);
  text(fields, 'workload');
  if (node === '') throw new Unusable('node_name', 'node_name is missing');
  if (size <= 0) throw new Unusable('workload_size', `workload_size is ${size}`);
  if (size > profile.mostRanks)
    throw new Unusable('workload_size', `workload_size ${size} is above ${profile.mostRanks}`);
  if (!profile.oddSizes && size % 2 === 1) throw new Unusable('odd_workload_size', `workload_size ${size} is odd`);
  if (size === 1 && !profile.alone) throw new Unusable('workload_size', 'a single rank has no partner');
  if (profile.bounded) requireBounds({ size, rank, node, address });
  return { size, rank, node, address };
}

/** Most characters of the name of a Kubernetes object. */
const longestName = 253;

function requireBounds({
  size,
  rank,
  node,
  address,
}: Pick<PreflightReport, 'size' | 'rank' | 'node' | 'address'>): void {
  if (rank < 0 || rank >= size) throw new Unusable('layout', `rank ${rank} is not one of ${size}`);
  if (node.length > longestName) throw new Unusable('node_name', `node_name has ${node.length} characters`);
  if (!nodePattern.test(node)) throw new Unusable('node_name', 'node_name is no name');
  if (address.length > preflightLimits.address)
    throw new Unusable('self_ip', `node_ip has ${address.length} characters`);
  if (!addressPattern.test(address)) throw new Unusable('self_ip', 'node_ip is no address');
}

/** `null` counts as absent. */
function integer(fields: Fields, name: string): number {
  const value = fields[name] ?? 0;
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new Unusable('parse', `${name} is not an integer`);
  return value;
}

function text(fields: Fields, name: string): string {
  const value = fields[name] ?? '';
  if (typeof value !== 'string') throw new Unusable('parse', `${name} is not a text`);
  return value;
}

const checkFailed = 2;

const checksOf = (fields: Fields): PreflightCheck[] =>
  preflightChecks.filter((check) => fields[`${check}_check`] === checkFailed);

const thresholdField = 'node_check_busbw_threshold_gbps';

/** The report's threshold; undefined when it sets none. */
function thresholdOf(fields: Fields, { thresholdText, bounded }: ReportProfile): number | undefined {
  const value = fields[thresholdField];
  if (!Object.hasOwn(fields, thresholdField)) return undefined;
  if (typeof value !== 'string') throw new Unusable('threshold', `${thresholdField} is not a text`);
  const said = thresholdText.trimmed ? value.trim() : value;
  if (thresholdText.trimmed && said === '') return undefined;
  const threshold = numberOfText(said);
  if (threshold === undefined) throw new Unusable('threshold', `${thresholdField} is not a number${tooLong(said)}`);
  if (!thresholdText.nonFinite && !Number.isFinite(threshold))
    throw new Unusable('threshold', `${thresholdField} is not finite`);
  if (threshold < 0 || (threshold === 0 && !thresholdText.zero))
    throw new Unusable('threshold', `${thresholdField} ${threshold} is too small`);
  if (bounded && threshold > mostGbps)
    throw new Unusable('threshold', `${thresholdField} ${threshold} is above ${mostGbps}`);
  return threshold;
}

/** Keeps comparisons as they are: no bandwidth is below NaN, every one is below infinity. */
const finite = (threshold: number): number => (Number.isNaN(threshold) ? 0 : Math.min(threshold, Number.MAX_VALUE));

/** Signals as they arrive: checked by hand. A bad message never stops a workflow. */

import {
  type CollectedReport,
  type NodeShare,
  preflightLimits,
  type TestingPod,
} from '../../contract/preflight/preflight.ts';
import type { RefusedReport } from '../../contract/preflight/files.ts';
import type { ReportsArrived } from '../../contract/preflight/runs.ts';
import { isObject, textOf } from '../faults.ts';

/** The usable part of `reportsArrived`, and how many reports could not be read. */
export function readReports(payload: unknown): ReportsArrived & { readonly dropped: number } {
  const listed = isObject(payload) && Array.isArray(payload['reports']) ? payload['reports'] : [];
  const refused = isObject(payload) && Array.isArray(payload['refused']) ? payload['refused'] : [];
  const reports = listed.filter(isCollected);
  return { reports, refused: refused.filter(isRefused).map(slim), dropped: listed.length - reports.length };
}

/** The pod of `podsTesting`. */
export function readPod(payload: unknown): TestingPod | undefined {
  const pod = isObject(payload) ? payload['pod'] : undefined;
  return isPod(pod) ? pod : undefined;
}

const isCount = (value: unknown, below: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < below;
const isTime = (value: unknown): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value));

const isPod = (value: unknown): value is TestingPod =>
  isObject(value) &&
  textOf(value['uid']) !== undefined &&
  textOf(value['name']) !== undefined &&
  isTime(value['createdAt']);

const isCollected = (value: unknown): value is CollectedReport => {
  if (!isObject(value) || !isPod(value['pod']) || !isObject(value['report']) || !isTime(value['writtenAt']))
    return false;
  const { size, rank, node, address, tests } = value['report'];
  return (
    isShare(value['share']) &&
    isCount(size, preflightLimits.size + 1) &&
    isCount(rank, size) &&
    textOf(node) !== undefined &&
    typeof address === 'string' &&
    Array.isArray(tests) &&
    tests.length <= preflightLimits.rounds &&
    tests.every(
      (test) =>
        isObject(test) &&
        isCount(test['round'], preflightLimits.rounds) &&
        ['ok', 'fail', 'skip'].includes(String(test['status'])),
    )
  );
};

const isShare = (value: unknown): value is NodeShare =>
  isObject(value) && isAmount(value['asked']) && isAmount(value['of']);
const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0;

const isRefused = (value: unknown): value is RefusedReport =>
  isObject(value) &&
  typeof value['rank'] === 'number' &&
  textOf(value['node']) !== undefined &&
  textOf(value['what']) !== undefined &&
  typeof value['because'] === 'string' &&
  isTime(value['at']);

const slim = (refused: RefusedReport): RefusedReport => ({ ...refused, because: refused.because.slice(0, 200) });

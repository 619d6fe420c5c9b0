/** Whether a rule that counts applies, from the bursts that are remembered. Pure. */

import type { Burst, NodeHistory } from '../../../contract/node/history.ts';
import { merged, type HistoryEntry } from '../history.ts';
import { type LastingRule, matches, type RepeatRule } from './rule.ts';

export type CountingRule = RepeatRule | LastingRule;

/** Whether the entry, which `history` holds already, makes the rule apply; `before` is the history without it, and none if it may be old. */
export function applies(
  rule: CountingRule,
  entry: HistoryEntry,
  history: NodeHistory,
  before: NodeHistory | undefined,
): boolean {
  if (!matches(rule.of, entry) || !isOfUnit(rule, entry, entry)) return false;
  return rule.kind === 'repeat'
    ? repeats(rule, entry, history) && !(before && isInBurst(rule, entry, before))
    : lasts(rule, entry, history) && !(before && lasts(rule, entry, before));
}

type Key = Omit<Burst, 'first' | 'last'>;

function isOfUnit({ by }: CountingRule, a: Key, b: Key): boolean {
  if (by === 'node') return true;
  return (
    a.device !== undefined &&
    a.device === b.device &&
    (by === 'device' || (a.place !== undefined && a.place === b.place))
  );
}

const counted = (rule: CountingRule, entry: HistoryEntry, history: NodeHistory): readonly Burst[] =>
  history.filter((burst) => burst.explained === undefined && matches(rule.of, burst) && isOfUnit(rule, entry, burst));

/** It belongs to a burst that the rule has counted before. */
const isInBurst = (rule: RepeatRule, entry: HistoryEntry, history: NodeHistory): boolean =>
  counted(rule, entry, history).some(({ first, last }) => entry.at >= first - rule.gap && entry.at <= last + rule.gap);

function repeats(rule: RepeatRule, entry: HistoryEntry, history: NodeHistory): boolean {
  const { at } = entry;
  const spans = merged(counted(rule, entry, history), rule.gap);
  const isEnough = spans.some((begin, index) => {
    const end = spans[index + rule.count - 1];
    return end !== undefined && end.first - begin.last <= rule.within && begin.first <= at && at <= end.last;
  });
  return isEnough && !(rule.alone === true && happensElsewhere(rule, entry, history));
}

function happensElsewhere(rule: RepeatRule, entry: HistoryEntry, history: NodeHistory): boolean {
  const { at, device, place } = entry;
  return history.some(
    (burst) =>
      matches(rule.of, burst) &&
      burst.last >= at - rule.within &&
      burst.first <= at + rule.within &&
      (rule.by === 'place'
        ? burst.device === device && burst.place !== undefined && burst.place !== place
        : burst.device !== undefined && burst.device !== device),
  );
}

const lasts = (rule: LastingRule, entry: HistoryEntry, history: NodeHistory): boolean =>
  merged(counted(rule, entry, history), rule.gap).some(
    ({ first, last }) => entry.at >= first - rule.gap && entry.at <= last + rule.gap && last - first >= rule.atLeast,
  );

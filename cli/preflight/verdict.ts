/** A judgement as text. */

import type { PreflightJudgement, NodeJudgement } from '../../contract/preflight/preflight.ts';
import type { Expiry, StepOutcome } from '../../policy/preflight/replay.ts';
import { table } from '../program/output.ts';

/** Judgement of reports from files. */
export interface JudgedReports extends PreflightJudgement {
  readonly profile: string;
  readonly size: number;
  readonly received: number;
  /** Ranks without a report. */
  readonly missing: readonly number[];
  /** Failed and slow, sorted. */
  readonly abnormalNodes: readonly string[];
  readonly undetermined: readonly string[];
}

const order: readonly NodeJudgement['verdict'][] = ['failed', 'slow', 'undetermined', 'healthy'];

/** What was found, a row for each node, and the pairs that are evidence for each verdict other than healthy. */
export function verdictText(judged: JudgedReports): string {
  const { rule, profile, nodes, size, received, missing, because, confidence } = judged;
  const counts = order
    .map((verdict) => [verdict, nodes.filter((node) => node.verdict === verdict).length] as const)
    .filter(([, count]) => count > 0);
  const sorted = nodes.toSorted((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
  const abnormal = sorted.filter(({ verdict, pairs }) => verdict !== 'healthy' && pairs.length > 0);
  return [
    `${counts.map(([verdict, count]) => `${count} ${verdict}`).join(', ')}: ${because}`,
    `rule ${rule}, profile ${profile}, confidence ${shown(confidence)}, ${received} of ${size} reports${missing.length === 0 ? '' : `; missing: ${some(missing)}`}`,
    '',
    table(
      ['node', 'rank', 'verdict', 'confidence', 'because'],
      sorted.map(({ node, rank, verdict, confidence: sure, because: why }) => [
        node,
        rank < 0 ? '' : String(rank),
        verdict,
        shown(sure),
        why,
      ]),
    ),
    ...(abnormal.length === 0
      ? []
      : [
          '',
          table(
            ['node', 'pair'],
            abnormal.flatMap(({ node, pairs }) => pairs.map((pair) => [node, pair])),
          ),
        ]),
  ].join('\n');
}

/** One row for each step of a vector. */
export function stepsText(steps: readonly StepOutcome[]): string {
  return table(
    ['step', 'outcome', 'abnormal', 'undetermined', 'confidence', 'because'],
    steps.map((step, index) => {
      const number = String(index + 1);
      if (step.outcome === 'error') return [number, step.outcome, '', '', '', step.errorField];
      const { abnormalNodes, undetermined, confidence } = step;
      const expired = 'expired' in step ? (step.expired ?? []) : [];
      return [
        number,
        step.outcome,
        namesText(abnormalNodes),
        namesText(undetermined),
        confidence === undefined ? '' : shown(confidence),
        expired.map(expiryText).join('; '),
      ];
    }),
  );
}

const namesText = (nodes: readonly string[] | undefined): string =>
  nodes?.length === 0 ? 'none' : (nodes ?? []).join(' ');

const expiryText = ({ namespace, workload, received, expected }: Expiry): string =>
  `${namespace}/${workload} expired with ${received} of ${expected}`;

const shown = (confidence: number): string => confidence.toFixed(3);

const some = (ranks: readonly number[]): string =>
  `${ranks.slice(0, 20).join(' ')}${ranks.length > 20 ? ` and ${ranks.length - 20} more` : ''}`;

/** The slow-node figures as text. */

import { table } from '../cli/program/output.ts';
import type { Cell, CellFigures } from './slow-nodes-cells.ts';
import type { SlowNodesReport } from './slow-nodes-report.ts';
import type { Figures, Share } from './slow-nodes-score.ts';

export function describeSlowNodes({ fixed, adaptive, racks, dense, slowdowns, time }: SlowNodesReport): string {
  const both = (cells: readonly CellFigures[]): string =>
    table(
      [
        ...job,
        'jobs',
        'strict: recall',
        'precision',
        'blamed',
        'all right',
        'statistical: recall',
        'precision',
        'blamed',
        'undetermined',
        'all right',
      ],
      cells.map(({ strict, statistical, ...cell }) => [
        ...jobOf(cell),
        String(strict.jobs),
        percent(strict.recall),
        percent(strict.precision),
        few(strict.blamed),
        percent(strict.right),
        ...verdicts(statistical),
      ]),
    );
  return [
    'Simulated fleets. Recall and precision in %, +- standard error; an undetermined slow node counts as missed. Blamed and undetermined: nodes of a job.',
    `Five rounds, the same measurements for both rules:\n${both(fixed)}`,
    `Adaptive rounds, at most 6; beside the strict rule on five rounds of the same fleet:\n${table(
      [
        ...job,
        'jobs',
        'strict: recall',
        'all right',
        'adaptive: rounds',
        'recall',
        'precision',
        'blamed',
        'undetermined',
        'all right',
      ],
      adaptive.map(({ strict, adaptive, ...cell }) => [
        ...jobOf(cell),
        String(strict.jobs),
        percent(strict.recall),
        percent(strict.right),
        ...(adaptive === undefined ? [] : [adaptive.rounds.toFixed(2), ...verdicts(adaptive)]),
      ]),
    )}`,
    `Slow racks, ranks in a row, five rounds:\n${table(
      [...job, 'jobs', 'strict: recall', 'no node blamed', 'statistical: recall', 'no node blamed', 'undetermined'],
      racks.map(({ strict, statistical, ...cell }) => [
        ...jobOf(cell),
        String(strict.jobs),
        ...[strict, statistical].flatMap(({ recall, blameless }) => [percent(recall), percent(blameless)]),
        few(statistical.undetermined),
      ]),
    )}`,
    `Small or badly broken fleets, five rounds, no flips:\n${both(dense)}`,
    `Slowdowns among 256 nodes, 4 slow, five rounds, no flips. First at a line that 1 of 1,000 healthy nodes passes, then as the rules are:\n${table(
      [
        'slow to',
        'sigma',
        'jobs',
        'at line: best of rounds',
        'statistical',
        'as is: found',
        'found or doubted',
        'blamed',
        'strict, floor 90 %',
      ],
      slowdowns.map(({ slowTo, sigma, jobs, lineByBest, lineStatistical, statistical, doubted, strict }) => [
        ...[slowTo, sigma].map((value) => `${Math.round(value * 100)} %`),
        String(jobs),
        ...[lineByBest, lineStatistical, statistical.recall, doubted].map(percent),
        few(statistical.blamed),
        percent(strict.recall),
      ]),
    )}`,
    `One judgement of five rounds, ms:\n${table(
      ['nodes', 'processor', 'clock'],
      time.map(({ size, processor, clock }) => [size, processor, clock].map((value) => value.toFixed(0))),
    )}`,
    '',
  ].join('\n\n');
}

const job = ['nodes', 'slow', 'flips', 'reports'] as const;
const jobOf = ({ size, slow, flips, reports }: Cell): string[] => [
  String(size),
  String(slow),
  `${flips * 100} %`,
  reports,
];

const verdicts = ({ recall, precision, blamed, undetermined, right }: Figures): string[] => [
  percent(recall),
  percent(precision),
  few(blamed),
  few(undetermined),
  percent(right),
];

const percent = ({ share, error }: Share): string =>
  Number.isNaN(share) ? '' : `${(100 * share).toFixed(2)} +-${(100 * error).toFixed(2)}`;
const few = (value: number): string => (value === 0 ? '0' : value.toPrecision(2));

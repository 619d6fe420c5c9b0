/** The storm figures as text. */

import { table } from '../cli/program/output.ts';
import type { Summary } from './statistics.ts';
import type { StormFigures, StormReport } from './storm-report.ts';

export function describeStorms(report: StormReport): string {
  const { plan, nodes, machine, rounds, last } = report;
  const hit =
    plan.hits === 'nodes'
      ? 'a kernel line on the node of each job of 1 pod'
      : 'a container fails in each job of 2 pods';
  const head = `${plan.count} ${plan.hits} at the same moment, ${rounds.length} times: ${hit}. ${nodes} nodes, ${plan.kind}, suspend`;
  const limit = plan.limit === 'all' ? 'no limit of nodes out' : `default limit: ${plan.allowed} nodes may be out`;
  const reasons = rounds
    .flatMap(({ heldBecause }) => Object.entries(heldBecause))
    .map(([because, count]) => `held ${count}: ${because}`);
  return [
    `${head}; ${limit}. ${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${machine.node}, load ${machine.load}. Milliseconds after the first fault.`,
    table(
      [
        'storm',
        'faults',
        'quarantined p50',
        'p99',
        'last',
        'first delete p50',
        'p99',
        'last',
        'running p50',
        'p99',
        'last',
      ],
      rounds.map(({ spread, quarantined, firstDeleted, running }, index) => [
        String(index + 1),
        ms(spread),
        ...three(quarantined),
        ...three(firstDeleted),
        ...three(running),
      ]),
    ),
    table(
      [
        'storm',
        'restarted',
        'held',
        'lost',
        'doubled',
        'misplaced',
        'events p50',
        'max',
        'cluster',
        'writes',
        'per recovery',
      ],
      rounds.map((round, index) => [String(index + 1), ...countsOf(round)]),
    ),
    `Last of all storms, p50 and worst: ${worst('quarantined', last.quarantined)}${worst('first delete', last.firstDeleted)}${worst('running', last.running)}`.trim(),
    `Processor time, ms: ${cpuOf(rounds)}`,
    ...new Set(reasons),
    report.violations.length === 0 ? 'No rule was broken.' : `BROKEN:\n${report.violations.join('\n')}`,
    '',
  ].join('\n\n');
}

/** Of the last storm, when caches are warm. */
const cpuOf = (rounds: readonly StormFigures[]): string =>
  Object.entries(rounds.at(-1)?.cpu ?? {})
    .map(([name, used]) => `${name} ${used}`)
    .join(', ');

const countsOf = ({
  restarted,
  held,
  safety,
  events,
  clusterEvents,
  writes,
  writesPerRecovery,
}: StormFigures): string[] => [
  ...[
    restarted,
    held,
    safety.lost,
    safety.doubled,
    safety.misplaced,
    events.p50,
    events.max,
    clusterEvents,
    writes,
  ].map(String),
  writesPerRecovery.toFixed(1),
];

const worst = (what: string, { n, p50, max }: Summary): string =>
  n === 0 || Number.isNaN(max) ? '' : `${what} ${ms(p50)} / ${ms(max)}  `;
const ms = (value: number): string => (Number.isNaN(value) ? '' : value.toFixed(0));
const three = ({ p50, p99, max }: Summary): string[] => [ms(p50), ms(p99), ms(max)];

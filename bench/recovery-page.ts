/** The report as text. */

import { table } from '../cli/program/output.ts';
import type { BenchReport, VariantReport } from './recovery-report.ts';
import type { Summary } from './statistics.ts';

export function describeReport(report: BenchReport): string {
  const { machine, pods, trials } = report;
  const { eventsAfterStart, eventsOfTheOneLeftAlone, minutes } = report.healthyJob;
  return [
    `${trials} incidents of each kind, ${pods} pods; ${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${machine.node}. Milliseconds.`,
    ...report.variants.map(describeVariant),
    `Floors: the stop alone, by hand\n${table(
      ['', 'to first delete p50', 'max', 'to all running p50', 'p99', 'max'],
      report.floors.map(({ variant, toFirstDelete, toRunning }) => [
        variant,
        ms(toFirstDelete.p50),
        ms(toFirstDelete.max),
        ms(toRunning.p50),
        ms(toRunning.p99),
        ms(toRunning.max),
      ]),
    )}`,
    `A healthy job: ${eventsAfterStart.p50} history events after its start (max ${eventsAfterStart.max}); the one left alone has ${eventsOfTheOneLeftAlone} after ${minutes.toFixed(1)} minutes`,
    'The correlation window of pod failures (500 ms by default) is set to 0 and in no figure.',
    '',
  ].join('\n\n');
}

function describeVariant({ variant, measures, writes, requests, histories, steps }: VariantReport): string {
  const rows = measures.map(({ what, kcover, floor, difference, ratio }) => [
    what,
    ...three(kcover),
    ...(floor ? three(floor) : ['', '', '']),
    ...(difference ? three(difference) : ['', '', '']),
    ratio?.toFixed(1),
  ]);
  const { total, job, recovery, node, cluster } = histories;
  return [
    `${variant.kind}, ${variant.fault === 'kernel' ? 'line in the kernel log' : 'container fails'}, stopped by ${variant.by}`,
    table(['', 'p50', 'p99', 'max', 'floor p50', 'p99', 'max', 'diff p50', 'p99', 'max', 'ratio'], rows),
    `writes: ${counts(writes)}`,
    `all requests to the API server: ${counts(requests)}`,
    `history events: p50 ${total.p50}, max ${total.max} (recovery ${recovery.p50}, job ${job.p50}, node ${node.p50}, cluster ${cluster.p50})`,
    table(
      ['workflow', 'step', 'waited p50', 'took p50'],
      steps.map(({ workflow, what, waited, took }) => [workflow, what, ms(waited), ms(took)]),
    ),
  ].join('\n');
}

const counts = ({ p50, max, each }: VariantReport['writes']): string => {
  const kinds = Object.entries(each).filter(([, count]) => count > 0);
  return `p50 ${p50}, max ${max} (${kinds.map(([what, count]) => `${count} ${what}`).join(', ')})`;
};

const ms = (value: number): string => value.toFixed(1);
const three = ({ p50, p99, max }: Summary): string[] => [ms(p50), ms(p99), ms(max)];

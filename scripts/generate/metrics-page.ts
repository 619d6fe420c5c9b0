import { type MetricEntry, metricTable } from '../../contract/metrics/catalogue.ts';
import { generated, markdownTable } from './markdown.ts';

const titles = {
  every: 'Every role',
  controller: 'kcover controller',
  worker: 'kcover worker',
  agent: 'kcover agent',
} as const satisfies Record<keyof typeof metricTable, string>;

/** Every metric of kcover's own. */
export const metricsPage = (): string =>
  [
    generated('contract/metrics/catalogue.ts'),
    '# Metrics',
    'Every role serves `/metrics` on `health.listen` in the text format of Prometheus. Beside its own metrics, which stand here, each role has the `process_*` and `nodejs_*` metrics of its process, and the worker the `temporal_*` metrics of the Temporal SDK. [Alerts and a dashboard](../running-the-roles.md#alerts-and-dashboard) are made from the same table. No label names a job or an incident: those are in Temporal, in Events and in the records.',
    ...Object.entries(metricTable).flatMap(([role, entries]) => [
      `## ${titles[role as keyof typeof titles]}`,
      markdownTable(['metric', 'kind', 'labels', 'meaning'], Object.values<MetricEntry>(entries).map(row)),
    ]),
    '',
  ]
    .join('\n\n')
    .trimEnd() + '\n';

const row = ({ name, help, labelNames, buckets }: MetricEntry): readonly string[] => [
  `\`${name}\``,
  kindOf(name, buckets),
  labelNames.map((label) => `\`${label}\``).join(', '),
  help,
];

const kindOf = (name: string, buckets: readonly number[] | undefined): string =>
  buckets ? 'histogram' : name.endsWith('_total') ? 'counter' : 'gauge';

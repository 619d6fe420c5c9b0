/** Names of metrics, and what alerts and dashboard make of them. */

import { describe, expect, it } from '@jest/globals';
import { type AlertRule, alertTable } from '../../contract/metrics/alerts.ts';
import { type MetricEntry, metricTable } from '../../contract/metrics/catalogue.ts';
import { dashboard } from '../../contract/metrics/dashboard.ts';
import { temporalMetrics } from '../../contract/metrics/temporal.ts';
import { alertRules, runbooks } from '../../scripts/generate/alert-rules.ts';
import { textOf } from '../architecture/sources.ts';

const own: readonly MetricEntry[] = Object.values(metricTable).flatMap((role) => Object.values<MetricEntry>(role));
const all: readonly MetricEntry[] = [...own, ...Object.values<MetricEntry>(temporalMetrics)];

/** Labels whose values are few: those of tables in the code, of settings, of the kinds of things that a cluster has, and nodes. */
const boundedLabels = [
  'about',
  'activity',
  'answer',
  'by',
  'code',
  'detector',
  'kind',
  'node',
  'outcome',
  'phase',
  'query',
  'reason',
  'result',
  'role',
  'route',
  'sender',
  'signal',
  'taint',
  'version',
  'what',
  'why',
];

/** What is against the convention of names, in words. */
function oddities({ name, help, labelNames, buckets }: MetricEntry): string[] {
  const isCounter = name.endsWith('_total');
  return [
    ...(/^kcover(_[a-z]+)+$/.test(name) ? [] : ['is not words of kcover in snake case']),
    ...(/_(ms|milliseconds|minutes|hours|kb|mb|mib|percent|ratio|count|sum|bucket)(_|$)/.test(name)
      ? ['has a unit or an end that it must not have']
      : []),
    ...(/_(seconds|bytes|info|total)_/.test(name) && !/_(seconds|bytes)_total$/.test(name)
      ? ['has its unit inside']
      : []),
    ...(name.endsWith('_info') && labelNames.length === 0 ? ['informs of nothing'] : []),
    ...(buckets && !name.endsWith('_seconds') ? ['is a histogram without a unit'] : []),
    ...(buckets && isCounter ? ['is a histogram with the name of a counter'] : []),
    ...(/\b(when)\b/i.test(help.split(' ')[0] ?? '') && !name.endsWith('_timestamp_seconds')
      ? ['is a time without its end']
      : []),
    ...labelNames
      .filter((label) => !boundedLabels.includes(label))
      .map((label) => `has a label ${label}, which is not known to be bounded`),
  ].map((what) => `${name} ${what}`);
}

/** Names of metrics in an expression, with those of a histogram's series. */
const namesIn = (expression: string): string[] => expression.match(/\b(?:kcover|temporal)_\w+/g) ?? [];
const isKnown = (name: string): boolean =>
  all.some((entry) =>
    (entry.buckets ?? isHistogramOfTemporal(entry)) ? name === `${entry.name}_bucket` : name === entry.name,
  );
const isHistogramOfTemporal = ({ name }: MetricEntry): boolean =>
  name.startsWith('temporal_') && name.endsWith('_seconds');

/** Labels that an expression groups by or compares. */
const labelsIn = (expression: string): string[] => [
  ...[...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
  ...[...expression.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label),
];
const labelsOf = (expression: string): string[] =>
  all
    .filter(({ name }) => namesIn(expression).some((used) => used.replace(/_bucket$/, '') === name))
    .flatMap(({ labelNames }) => [...labelNames]);
const strangeLabels = (expression: string): string[] =>
  labelsIn(expression).filter((label) => label !== 'le' && !labelsOf(expression).includes(label));

const alerts = Object.entries<AlertRule>(alertTable);
const results = dashboard.flatMap(({ panels }) => panels.flatMap((panel) => panel.results));

describe('names of metrics', () => {
  it('follow the convention of Prometheus: base units, _total for counters, labels that are bounded', () => {
    const wrong = { name: 'kcover_wait_ms', help: 'When it ended', labelNames: ['pod'] };
    expect(oddities(wrong)).toHaveLength(3);
    expect(own.flatMap(oddities)).toEqual([]);
  });

  it('are used once', () => {
    expect(all.map(({ name }) => name)).toEqual([...new Set(all.map(({ name }) => name))]);
  });
});

describe('alerts and dashboard', () => {
  it('read only metrics and labels of the tables', () => {
    const expressions = [
      ...alerts.map(([, { expression }]) => expression),
      ...results.map(({ expression }) => expression),
    ];
    expect(isKnown('kcover_leader')).toBe(false);
    expect(strangeLabels('sum by (pod) (kcover_leading)')).toEqual(['pod']);
    expect(expressions.filter((expression) => namesIn(expression).length === 0)).toEqual([]);
    expect(expressions.flatMap(namesIn).filter((name) => !isKnown(name))).toEqual([]);
    expect(expressions.flatMap(strangeLabels)).toEqual([]);
  });

  it('read the same in the files that are generated from them', () => {
    const files = ['charts/kcover/files/alerts.yaml', 'charts/kcover/files/dashboard.json'].map(textOf);
    expect(files[0]).toBe(alertRules());
    expect(files.flatMap(namesIn).filter((name) => !isKnown(name))).toEqual([]);
  });

  it('name in their texts only labels that the expression keeps', () => {
    const named = (text: string, form: RegExp) => [...text.matchAll(form)].map(([, label = '']) => label);
    const kept = (expression: string) =>
      [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '));
    const lost = [
      ...alerts.map(
        ([, { expression, summary, description }]) =>
          [named(summary + description, /\$labels\.(\w+)/g), expression] as const,
      ),
      ...results.map(({ legend, expression }) => [named(legend, /\{\{(\w+)\}\}/g), expression] as const),
    ].flatMap(([labels, expression]) =>
      labels.filter((label) => !kept(expression).includes(label)).map((label) => `${label}: ${expression}`),
    );
    expect(lost).toEqual([]);
  });

  it('have the rows that people look for', () => {
    expect(dashboard.map(({ title }) => title)).toEqual([
      'Nodes',
      'Incidents',
      'Recoveries',
      'Agents',
      'Temporal worker',
    ]);
  });
});

describe('runbooks', () => {
  it('have a section for each alert, and no other', () => {
    const sections = [...textOf(runbooks).matchAll(/^## (Kcover\w+)$/gm)].map(([, title]) => title);
    expect(sections).toEqual(Object.keys(alertTable));
  });
});

import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { AgentStatus } from '../../agent/index.ts';
import { agentMetrics } from '../../cli/roles/agent-metrics.ts';
import { workerMetrics } from '../../cli/roles/worker-metrics.ts';
import { type MetricEntry, metricTable } from '../../contract/metrics/catalogue.ts';
import { certificateMetric, controllerMetrics } from '../../controller/metrics.ts';

const status: AgentStatus = {
  node: 'gpu-3',
  detectors: { 'kernel-log': { state: 'unavailable', because: 'not there', read: 7 } },
  reporter: { failures: 2, sent: 5, refused: new Map([['malformed', 1]]), lastAcceptedAt: '2026-11-21T07:00:00.500Z' },
  spool: { stream: 's', waiting: 3, dropped: 1, bytes: 400, gaps: new Map([['report-refused', 1]]), onDisk: true },
  preflight: {
    waiting: 4,
    accepted: 6,
    refused: new Map([['stale', 2]]),
    ignored: 1,
    failures: 3,
    unavailable: 'it is a link',
  },
  progress: { sent: 8, unusable: 1, ignored: 2, failures: 0 },
  logs: { followed: 2, lines: 70, skipped: 9, sent: 4, failures: 1 },
  statusFile: {},
};
const readings = {
  leading: () => true,
  messagesWaiting: () => 1,
  agentsLive: () => 2,
  agentsSilent: () => ['gpu-3'],
  quarantines: () => new Map(),
};

const namesIn = (registry: Registry) => registry.getMetricsAsArray().map(({ name }) => name);

describe('the metrics of each role', () => {
  it.each<[keyof typeof metricTable, (registry: Registry) => void]>([
    [
      'controller',
      (registry) => {
        controllerMetrics(registry, readings);
        certificateMetric(registry, () => 0);
      },
    ],
    ['worker', (registry) => void workerMetrics(registry, [])],
    ['agent', (registry) => agentMetrics(registry, () => status)],
  ])('match the table: %s', (role, register) => {
    const registry = new Registry();
    register(registry);
    const entries: readonly MetricEntry[] = Object.values(metricTable[role]);
    expect(namesIn(registry).toSorted()).toEqual(entries.map(({ name }) => name).toSorted());
  });

  it('report the status of an agent, unchanged by repeated scrapes', async () => {
    const registry = new Registry();
    agentMetrics(registry, () => status);
    await registry.metrics();
    const text = await registry.metrics();
    for (const line of [
      'kcover_agent_spool_bytes 400',
      'kcover_agent_spool_dropped_total 1',
      'kcover_agent_gaps_total{what="report-refused"} 1',
      'kcover_agent_reports_sent_total 5',
      'kcover_agent_requests_refused_total{reason="malformed"} 1',
      'kcover_agent_last_accepted_timestamp_seconds 1795244400.5',
      'kcover_agent_detector_unavailable{detector="kernel-log"} 1',
      'kcover_agent_preflight_waiting 4',
      'kcover_agent_preflight_refused_total{reason="stale"} 2',
      'kcover_agent_preflight_unavailable 1',
      'kcover_agent_detector_lines_total{detector="kernel-log"} 7',
    ])
      expect(text).toContain(`${line}\n`);
  });

  it('of a worker begin at zero for what alerts watch, so that the first of them is an increase', async () => {
    const registry = new Registry();
    const meter = workerMetrics(registry, ['oncall']);
    const text = await registry.metrics();
    for (const series of [
      'kcover_repairs_total{outcome="exhausted"}',
      'kcover_repairs_total{outcome="retired"}',
      'kcover_notification_failures_total{route="oncall",code="notify.refused"}',
      'kcover_notification_failures_total{route="oncall",code="notify.unreachable"}',
    ])
      expect(text).toContain(`${series} 0\n`);
    meter.repaired('exhausted');
    meter.notNotified('oncall', 'notify.refused');
    const later = await registry.metrics();
    expect(later).toContain('kcover_repairs_total{outcome="exhausted"} 1\n');
    expect(later).toContain('kcover_notification_failures_total{route="oncall",code="notify.refused"} 1\n');
  });

  it('get a series of their own for the first codes, and share one beyond them', async () => {
    const registry = new Registry();
    const { faultAccepted } = controllerMetrics(registry, readings);
    for (let code = 0; code < 1000; code++) faultAccepted({ source: 'kernel', code: `xid/${code}` });
    faultAccepted({ source: 'pod', code: 'xid/7' });
    const text = await registry.getSingleMetricAsString('kcover_faults_total');
    expect(text.match(/^kcover_faults_total\{about="node"/gm)).toHaveLength(301);
    expect(text).toContain('kcover_faults_total{about="node",code="other"} 700');
    expect(text).toContain('kcover_faults_total{about="pod",code="xid/7"} 1');
  });

  it('name the nodes whose agents are silent, and only those', async () => {
    const registry = new Registry();
    let silent = ['gpu-3', 'gpu-4'];
    controllerMetrics(registry, { ...readings, agentsSilent: () => silent });
    await registry.metrics();
    silent = ['gpu-4'];
    expect(await registry.getSingleMetricAsString('kcover_agent_silent')).toMatch(/\{node="gpu-4"\} 1$/);
    expect(await registry.getSingleMetricAsString('kcover_agent_silent')).not.toContain('gpu-3');
  });
});

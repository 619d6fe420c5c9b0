/** Each alert in Prometheus' own tool: series with which it fires, and similar ones with which it does not. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { type AlertName, alertTable } from '../../contract/metrics/alerts.ts';
import { alertRules, runbooks } from '../../scripts/generate/alert-rules.ts';
import { obtainPromtool, type Promtool } from './promtool.ts';

/** Series in promtool's notation: one value a minute. `at`: when it is looked at. */
interface Case {
  readonly at: string;
  readonly series: Readonly<Record<string, string>>;
}
interface Cases {
  /** Labels of the alert, without its severity; none by default. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly fires: Case;
  readonly quiet: Case;
}

const cases: Readonly<Record<AlertName, Cases>> = {
  KcoverNoLeader: {
    fires: { at: '10m', series: { 'kcover_leading{pod="a"}': '0x20', 'kcover_leading{pod="b"}': '1 0x20' } },
    // A failover is over within the five minutes.
    quiet: { at: '10m', series: { 'kcover_leading{pod="a"}': '1 1 1 1 0x20', 'kcover_leading{pod="b"}': '0x6 1x20' } },
  },
  KcoverNoWorker: {
    fires: { at: '6m', series: { 'kcover_build_info{role="controller",version="1"}': '1x20' } },
    quiet: { at: '6m', series: { 'kcover_build_info{role="worker",version="1"}': '1x20' } },
  },
  KcoverTemporalUnreachable: {
    // There is nothing to send, and the question has no answer.
    fires: {
      at: '20m',
      series: { 'kcover_temporal_answers{pod="a"}': '0x30', 'kcover_signals_sent_total{signal="start"}': '5x30' },
    },
    // Some calls fail, others arrive.
    quiet: {
      at: '20m',
      series: {
        'kcover_temporal_answers{pod="a"}': '1x30',
        'kcover_signal_failures_total{signal="start"}': '0+1x30',
        'kcover_signals_sent_total{signal="start"}': '5+1x30',
      },
    },
  },
  KcoverWorkflowTasksFail: {
    labels: { workflow_type: 'recovery' },
    fires: {
      at: '50m',
      series: { 'temporal_workflow_task_execution_failed_total{workflow_type="recovery",pod="a"}': '1+0.1x60' },
    },
    // One task failed once.
    quiet: {
      at: '50m',
      series: { 'temporal_workflow_task_execution_failed_total{workflow_type="recovery",pod="a"}': '0x30 1x30' },
    },
  },
  KcoverRecoveryStuck: {
    fires: { at: '10m', series: { kcover_recoveries_stuck_total: '0x5 1x20' } },
    quiet: { at: '40m', series: { kcover_recoveries_stuck_total: '0x5 1x40' } },
  },
  KcoverWorkerSlotsUsedUp: {
    labels: { worker_type: 'LocalActivityWorker' },
    fires: {
      at: '15m',
      series: { 'temporal_worker_task_slots_available{worker_type="LocalActivityWorker",pod="a"}': '0x20' },
    },
    quiet: {
      at: '15m',
      series: { 'temporal_worker_task_slots_available{worker_type="LocalActivityWorker",pod="a"}': '0x5 1 0x20' },
    },
  },
  KcoverAgentSilent: {
    labels: { node: 'gpu-3' },
    fires: { at: '15m', series: { 'kcover_agent_silent{node="gpu-3",pod="a"}': '1x20' } },
    quiet: { at: '15m', series: { 'kcover_agent_silent{node="gpu-3",pod="a"}': '1x5 _x20' } },
  },
  KcoverDetectorUnavailable: {
    labels: { detector: 'kernel-log' },
    fires: { at: '40m', series: { 'kcover_agent_detector_unavailable{detector="kernel-log",pod="a"}': '1x60' } },
    quiet: { at: '40m', series: { 'kcover_agent_detector_unavailable{detector="kernel-log",pod="a"}': '1x20 0x40' } },
  },
  KcoverReportsLost: {
    labels: { what: 'spool-full' },
    fires: { at: '10m', series: { 'kcover_intake_gaps_total{what="spool-full"}': '0x5 1x20' } },
    quiet: { at: '10m', series: { 'kcover_intake_gaps_total{what="spool-full"}': '7x20' } },
  },
  KcoverCertificateExpires: {
    fires: {
      at: '2h',
      series: {
        'kcover_intake_certificate_expiry_timestamp_seconds{pod="a"}': '1000000x150',
        'kcover_intake_certificate_expiry_timestamp_seconds{pod="b"}': '9000000x150',
      },
    },
    quiet: { at: '2h', series: { 'kcover_intake_certificate_expiry_timestamp_seconds{pod="a"}': '9000000x150' } },
  },
  KcoverRecoveryHeld: {
    labels: { phase: 'held' },
    fires: { at: '40m', series: { 'kcover_recoveries_open{phase="held"}': '1x60' } },
    quiet: {
      at: '40m',
      series: {
        'kcover_recoveries_open{phase="held"}': '1x20 _x20',
        'kcover_recoveries_open{phase="verifying"}': '1x60',
      },
    },
  },
  KcoverApprovalAwaited: {
    fires: { at: '10m', series: { 'kcover_recoveries_open{phase="waiting for approval"}': '1x20' } },
    quiet: { at: '10m', series: { 'kcover_recoveries_open{phase="waiting for placement"}': '1x20' } },
  },
  KcoverRecoveryEscalated: {
    labels: { outcome: 'escalated' },
    fires: { at: '10m', series: { 'kcover_recoveries_total{outcome="escalated"}': '0x5 1x20' } },
    quiet: { at: '10m', series: { 'kcover_recoveries_total{outcome="recovered"}': '0x5 1x20' } },
  },
  KcoverQuarantineHeld: {
    fires: { at: '10m', series: { 'kcover_held_total{what="quarantine"}': '0x5 1x20' } },
    quiet: { at: '10m', series: { 'kcover_held_total{what="recovery"}': '0x5 1x20' } },
  },
  KcoverNodeQuarantinedLong: {
    labels: { node: 'gpu-3' },
    fires: { at: '25h', series: { 'kcover_node_quarantine_start_timestamp_seconds{node="gpu-3"}': '10x1600' } },
    quiet: { at: '25h', series: { 'kcover_node_quarantine_start_timestamp_seconds{node="gpu-3"}': '7200x1600' } },
  },
  KcoverStormOpen: {
    fires: { at: '1m', series: { 'kcover_storms_open{pod="a"}': '1x10' } },
    // It is over.
    quiet: { at: '10m', series: { 'kcover_storms_open{pod="a"}': '1x5 0x10' } },
  },
  KcoverRepairFailed: {
    labels: { outcome: 'exhausted' },
    fires: { at: '10m', series: { 'kcover_repairs_total{outcome="exhausted"}': '0x5 1x20' } },
    quiet: {
      at: '10m',
      series: {
        'kcover_repairs_total{outcome="cured"}': '0x5 1x20',
        'kcover_repairs_total{outcome="cancelled"}': '0x5 1x20',
      },
    },
  },
  KcoverNotificationsFail: {
    labels: { route: 'oncall' },
    fires: {
      at: '20m',
      series: { 'kcover_notification_failures_total{route="oncall",code="notify.unreachable"}': '0x5 1+1x20' },
    },
    // The next attempt was taken.
    quiet: {
      at: '20m',
      series: {
        'kcover_notification_failures_total{route="oncall",code="notify.unreachable"}': '0x5 1x20',
        'kcover_notifications_total{route="oncall"}': '3x8 4x20',
      },
    },
  },
};

const directory = mkdtempSync(join(tmpdir(), 'kcover-alerts-'));
let promtool: Promtool | undefined;

beforeAll(async () => {
  promtool = await obtainPromtool();
  writeFileSync(join(directory, 'alerts.yaml'), alertRules());
}, 300_000);
afterAll(() => rmSync(directory, { recursive: true }));

const inputOf = ({ series }: Case) => Object.entries(series).map(([name, values]) => ({ series: name, values }));

/** The alert as Prometheus sends it, with its texts filled in. */
function expected(alert: AlertName, labels: Readonly<Record<string, string>>) {
  const { severity, summary, description } = alertTable[alert];
  const filled = (text: string) =>
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => labels[label] ?? '');
  const runbook = `${runbooks}#${alert.toLowerCase()}`;
  return {
    exp_labels: { ...labels, severity },
    exp_annotations: { summary: filled(summary), description: filled(description), runbook_url: runbook },
  };
}

/** Runs the rules on the series of one case; what promtool says where the alerts are others. */
async function judge(alert: AlertName, which: Case, alerts: readonly object[]): Promise<string> {
  if (!promtool) return '';
  const file = join(directory, `${alert}.yaml`);
  const alert_rule_test = [{ eval_time: which.at, alertname: alert, exp_alerts: alerts }];
  const tests = [{ interval: '1m', input_series: inputOf(which), alert_rule_test }];
  writeFileSync(file, stringify({ rule_files: ['alerts.yaml'], evaluation_interval: '1m', tests }));
  const { code, tail } = await promtool('test', 'rules', file);
  return code === 0 ? '' : tail;
}

const names = Object.keys(cases) as AlertName[];

describe('the alert', () => {
  it.each(names)('%s fires, with texts that name what it is about', async (alert) => {
    const { fires, labels = {} } = cases[alert];
    expect(await judge(alert, fires, [expected(alert, labels)])).toBe('');
  });

  it.each(names)('%s does not fire where nothing is wrong for long', async (alert) => {
    expect(await judge(alert, cases[alert].quiet, [])).toBe('');
  });

  it('KcoverNotificationsFail also fires for one that is refused, although the next ones are taken', async () => {
    const series = {
      'kcover_notification_failures_total{route="oncall",code="notify.refused"}': '0x5 1x30',
      'kcover_notifications_total{route="oncall"}': '0+1x30',
    };
    const alerts = [expected('KcoverNotificationsFail', { route: 'oncall' })];
    expect(await judge('KcoverNotificationsFail', { at: '20m', series }, alerts)).toBe('');
  });

  it('KcoverTemporalUnreachable also fires where questions are answered and every message is refused', async () => {
    const series = { kcover_temporal_answers: '1x30', 'kcover_signal_failures_total{signal="start"}': '0+1x30' };
    expect(
      await judge('KcoverTemporalUnreachable', { at: '20m', series }, [expected('KcoverTemporalUnreachable', {})]),
    ).toBe('');
  });
});

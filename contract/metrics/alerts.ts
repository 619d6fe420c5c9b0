/**
 * All alerts, beside the table of the metrics that they read. Rules for Prometheus are generated from it; each has a section of the same name in
 * docs/runbooks.md. A rule adds nothing that its metric does not say, and reads metrics by their entry in a table, so that no name is written twice.
 */

import type { Outcome } from '../recovery/outcomes.ts';
import type { RecoveryPhase } from '../recovery/recovery.ts';
import type { ErrorCode } from '../errors.ts';
import type { RemedyOutcome } from '../remedy/remedy.ts';
import { metricTable } from './catalogue.ts';
import { temporalMetrics } from './temporal.ts';

/** One rule. In texts, `{{ $labels.x }}` is a label of what the expression returns. */
export interface AlertRule {
  /** `critical`: faults are not handled, or may be lost. `warning`: a person should look within the day. */
  readonly severity: 'critical' | 'warning';
  /** What the expression must hold for, as Prometheus writes durations. */
  readonly for: string;
  readonly expression: string;
  /** One line, for a list of alerts. */
  readonly summary: string;
  /** What it means for nodes and jobs. */
  readonly description: string;
}

const { every, controller, worker, agent } = metricTable;

const heldPhases = ['held', 'waiting for placement'] as const satisfies readonly RecoveryPhase[];
const approvalPhase = 'waiting for approval' satisfies RecoveryPhase;
const notRepaired = ['exhausted', 'retired'] as const satisfies readonly RemedyOutcome['outcome'][];
const refused = 'notify.refused' satisfies ErrorCode;
const unreachable = 'notify.unreachable' satisfies ErrorCode;
const handedOver = ['escalated', 'failed'] as const satisfies readonly Outcome[];

export const alertTable = {
  KcoverNoLeader: {
    severity: 'critical',
    for: '5m',
    // Without any controller the series is gone, which must not silence the rule.
    expression: `(sum(${controller.leading.name}) or vector(0)) < 1`,
    summary: 'No kcover controller leads',
    description:
      'Reports of agents wait on their nodes, and no controller watches pods and nodes: a node that breaks now is not quarantined.',
  },
  KcoverNoWorker: {
    severity: 'critical',
    for: '5m',
    expression: `(count(${every.build.name}{role="worker"}) or vector(0)) < 1`,
    summary: 'No kcover worker runs, or none is scraped',
    description: 'Temporal keeps every fault, but nothing is decided: no node is quarantined and no job is restarted.',
  },
  KcoverTemporalUnreachable: {
    severity: 'critical',
    for: '5m',
    expression: `(max(${controller.temporalAnswers.name}) < 1 or sum(increase(${controller.signalFailures.name}[5m])) > 0) unless sum(increase(${controller.signalsSent.name}[5m])) > 0`,
    summary: 'Temporal does not answer kcover',
    description:
      'The leading controller reaches Temporal for nothing. Faults wait in the controller and on the nodes, and nothing is decided.',
  },
  KcoverWorkflowTasksFail: {
    severity: 'critical',
    for: '15m',
    // Temporal repeats a failed task after ten minutes at most.
    expression: `sum by (workflow_type) (increase(${temporalMetrics.workflowTasksFailed.name}[15m])) > 0`,
    summary: 'Workflow tasks of {{ $labels.workflow_type }} fail repeatedly',
    description:
      'A workflow of type {{ $labels.workflow_type }} cannot continue with this version of the worker. What it looks after stays as it is.',
  },
  KcoverRecoveryStuck: {
    severity: 'critical',
    for: '0m',
    expression: `sum(increase(${worker.stuck.name}[15m])) > 0`,
    summary: 'A recovery is stuck',
    description:
      'The workflow task of a recovery fails repeatedly. Its job may be stopped, and nothing restarts it until the recovery continues.',
  },
  KcoverWorkerSlotsUsedUp: {
    severity: 'warning',
    for: '10m',
    expression: `min by (worker_type) (${temporalMetrics.slotsAvailable.name}) < 1`,
    summary: 'A kcover worker has no free slot for a {{ $labels.worker_type }}',
    description:
      'Tasks of the type {{ $labels.worker_type }} wait for a free worker, so that quarantines and stops come late.',
  },
  KcoverAgentSilent: {
    severity: 'warning',
    for: '10m',
    expression: `max by (node) (${controller.agentsSilent.name}) > 0`,
    summary: 'The kcover agent of {{ $labels.node }} is silent',
    description:
      'Kernel faults of {{ $labels.node }} are not seen. kcover takes the silence for no fault, and does nothing about it.',
  },
  KcoverDetectorUnavailable: {
    severity: 'warning',
    for: '30m',
    expression: `sum by (detector) (${agent.detectorUnavailable.name}) > 0`,
    summary: 'The detector {{ $labels.detector }} cannot read its source on some nodes',
    description: 'Faults that only the detector {{ $labels.detector }} observes are not seen on these nodes.',
  },
  KcoverReportsLost: {
    severity: 'warning',
    for: '0m',
    expression: `sum by (what) (increase(${controller.gaps.name}[15m])) > 0`,
    summary: 'An agent lost kernel lines or reports: {{ $labels.what }}',
    description:
      'A fault may have been among what was lost, and is not handled then. The log of the controller names the node.',
  },
  KcoverCertificateExpires: {
    severity: 'warning',
    for: '1h',
    expression: `min(${controller.certificateExpiry.name}) - time() < 14 * 86400`,
    summary: 'The certificate of the intake expires within 14 days',
    description: 'Agents cannot report once it has expired.',
  },
  KcoverRecoveryHeld: {
    severity: 'warning',
    for: '30m',
    expression: `max by (phase) (${controller.recoveriesOpen.name}{phase=~"${heldPhases.join('|')}"}) > 0`,
    summary: 'Recoveries have been {{ $labels.phase }} for 30 minutes',
    description:
      'At least one job has broken, and its recovery is {{ $labels.phase }}: it is escalated when its deadline passes.',
  },
  KcoverApprovalAwaited: {
    severity: 'warning',
    for: '5m',
    expression: `max(${controller.recoveriesOpen.name}{phase="${approvalPhase}"}) > 0`,
    summary: 'A recovery waits for the approval of a person',
    description: 'Without an answer within recovery.approval.within, what recovery.approval.otherwise says is done.',
  },
  KcoverRecoveryEscalated: {
    severity: 'warning',
    for: '0m',
    expression: `sum by (outcome) (increase(${worker.recoveries.name}{outcome=~"${handedOver.join('|')}"}[1h])) > 0`,
    summary: 'A recovery ended as {{ $labels.outcome }}',
    description:
      'kcover does nothing more for this job until another fault or a person requests it. The job may not be training.',
  },
  KcoverQuarantineHeld: {
    severity: 'warning',
    for: '0m',
    expression: `sum(increase(${worker.held.name}{what="quarantine"}[15m])) > 0`,
    summary: 'A node should be quarantined and is not',
    description:
      'The limit of quarantined nodes is reached, or a person paused kcover. New pods may be placed on a broken node, and recoveries of its jobs are held.',
  },
  KcoverNodeQuarantinedLong: {
    severity: 'warning',
    for: '0m',
    expression: `time() - max by (node) (${controller.quarantinedSince.name}) > 86400`,
    summary: '{{ $labels.node }} has been quarantined for more than a day',
    description:
      'The node takes no new pods, and counts against the limit of quarantined nodes until a person releases it.',
  },
  KcoverStormOpen: {
    severity: 'critical',
    for: '0m',
    expression: `max(${controller.stormsOpen.name}) > 0`,
    summary: 'Several nodes of one place were quarantined for one cause',
    description:
      'One cause that they share is likelier than so many broken nodes. Quarantines go on within the limits, and repairs of these nodes wait.',
  },
  KcoverRepairFailed: {
    severity: 'warning',
    for: '0m',
    expression: `sum by (outcome) (increase(${worker.repairs.name}{outcome=~"${notRepaired.join('|')}"}[1h])) > 0`,
    summary: 'The repair of a node ended as {{ $labels.outcome }}',
    description: 'The node stays quarantined until a person repairs or replaces the machine and releases it.',
  },
  KcoverNotificationsFail: {
    severity: 'warning',
    for: '10m',
    // What is refused is lost at once; a receiver that does not answer may take the next attempt, at most ten minutes later.
    expression: `sum by (route) (increase(${worker.notificationFailures.name}{code="${refused}"}[1h])) > 0 or (sum by (route) (increase(${worker.notificationFailures.name}{code="${unreachable}"}[15m])) > 0 unless sum by (route) (increase(${worker.notifications.name}[15m])) > 0)`,
    summary: 'Notifications of the route {{ $labels.route }} are not delivered',
    description:
      'People who receive {{ $labels.route }} do not learn what kcover decides. A notification that is refused is lost; others are tried again for a day.',
  },
} as const satisfies Record<string, AlertRule>;

export type AlertName = keyof typeof alertTable;

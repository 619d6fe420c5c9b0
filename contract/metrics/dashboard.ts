/** What the dashboard shows, beside the table of the metrics that it reads. The JSON for Grafana is generated from it. */

import { metricTable } from './catalogue.ts';
import { temporalMetrics } from './temporal.ts';

/** One diagram or number. */
export interface Panel {
  readonly title: string;
  /** `stat` shows one number, `time` a curve for each result. */
  readonly shows: 'stat' | 'time';
  /** Unit as Grafana names it; counts have none. */
  readonly unit?: 's' | 'bytes' | 'percentunit';
  /** Expressions, and what Grafana calls their results; `{{x}}` is a label. */
  readonly results: readonly { readonly expression: string; readonly legend: string }[];
}

export interface DashboardRow {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const { every, controller, worker, agent } = metricTable;

interface Named {
  readonly name: string;
}

/** Increase of a counter in the time that one point of a curve stands for; Grafana replaces the variable. */
const increase = ({ name }: Named): string => `increase(${name}[$__rate_interval])`;

/** A curve for each combination of labels. */
const by = (metric: Named, ...labels: readonly string[]): Panel['results'][number] => ({
  expression: `sum by (${labels.join(', ')}) (${increase(metric)})`,
  legend: labels.map((label) => `{{${label}}}`).join(' '),
});

const total = (metric: Named, legend: string): Panel['results'][number] => ({
  expression: `sum(${increase(metric)})`,
  legend,
});

/** Quantiles of a histogram. */
const quantiles = ({ name }: Named, ...labels: readonly string[]): Panel['results'] =>
  [0.5, 0.95].map((quantile) => ({
    expression: `histogram_quantile(${quantile}, sum by (${['le', ...labels].join(', ')}) (rate(${name}_bucket[$__rate_interval])))`,
    legend: [`p${quantile * 100}`, ...labels.map((label) => `{{${label}}}`)].join(' '),
  }));

const time = (title: string, ...results: Panel['results']): Panel => ({ title, shows: 'time', results });
const seconds = (title: string, ...results: Panel['results']): Panel => ({ ...time(title, ...results), unit: 's' });
const stat = (title: string, expression: string): Panel => ({
  title,
  shows: 'stat',
  results: [{ expression, legend: title }],
});

export const dashboard: readonly DashboardRow[] = [
  {
    title: 'Nodes',
    panels: [
      stat('Nodes in quarantine', `count(${controller.quarantinedSince.name}) or vector(0)`),
      stat('Nodes whose agent is silent', `count(${controller.agentsSilent.name} == 1) or vector(0)`),
      stat('Conditions and devices that cannot be observed', `sum(${controller.unobservable.name}) or vector(0)`),
      seconds('Time in quarantine', {
        expression: `time() - max by (node) (${controller.quarantinedSince.name})`,
        legend: '{{node}}',
      }),
      time('Faults', by(controller.faults, 'about', 'code')),
      time('Quarantines and releases', total(worker.quarantines, 'quarantines'), total(worker.releases, 'releases')),
      time('Repairs that ended, by outcome', by(worker.repairs, 'outcome')),
    ],
  },
  {
    title: 'Incidents',
    panels: [
      time('Open recoveries by phase', {
        expression: `max by (phase) (${controller.recoveriesOpen.name})`,
        legend: '{{phase}}',
      }),
      time('Open storms: several nodes with one cause', {
        expression: `max(${controller.stormsOpen.name})`,
        legend: 'storms',
      }),
      time('Decisions', by(worker.decisions, 'about', 'kind')),
      time('Quarantines and recoveries that had to wait', by(worker.held, 'what')),
      time(
        'Training that hangs or is slower',
        total(controller.trainingHangs, 'hangs'),
        total(controller.trainingSlowdowns, 'slowdowns'),
      ),
      time('Notifications that were not taken', by(worker.notificationFailures, 'route', 'code')),
    ],
  },
  {
    title: 'Recoveries',
    panels: [
      time('Recoveries that ended, by outcome', by(worker.recoveries, 'outcome')),
      seconds('Duration by outcome', ...quantiles(worker.recoverySeconds, 'outcome')),
      time('Stops', by(worker.stops, 'by', 'result')),
      time(
        'Pods deleted by force, stuck recoveries',
        total(worker.forced, 'pods deleted by force'),
        total(worker.stuck, 'checks that found one stuck'),
      ),
    ],
  },
  {
    title: 'Agents',
    panels: [
      time('Agents that report', { expression: `max(${controller.agentsLive.name})`, legend: 'agents' }),
      time('Reports that wait on the nodes', { expression: `sum(${agent.waiting.name})`, legend: 'reports' }),
      seconds('Longest time since the controller accepted a report or heartbeat', {
        expression: `time() - min(${agent.acceptedAt.name} > 0)`,
        legend: 'longest',
      }),
      time('Detectors that cannot read their source', {
        expression: `sum by (detector) (${agent.detectorUnavailable.name})`,
        legend: '{{detector}}',
      }),
      time(
        'Reports accepted and rejected',
        total(controller.reportsAccepted, 'accepted'),
        by(controller.rejected, 'reason'),
      ),
      time('Lost lines and reports', by(controller.gaps, 'what')),
    ],
  },
  {
    title: 'Temporal worker',
    panels: [
      stat('Workers', `count(${every.build.name}{role="worker"}) or vector(0)`),
      time('Messages that wait for Temporal', {
        expression: `sum(${controller.messagesWaiting.name})`,
        legend: 'messages',
      }),
      time('Calls that Temporal did not accept', by(controller.signalFailures, 'signal')),
      seconds('Workflow tasks: time in the queue', ...quantiles(temporalMetrics.workflowTaskWait)),
      seconds('Activities: time in the queue', ...quantiles(temporalMetrics.activityWait)),
      time('Free slots', {
        expression: `min by (worker_type) (${temporalMetrics.slotsAvailable.name})`,
        legend: '{{worker_type}}',
      }),
      time('Workflow tasks that failed', by(temporalMetrics.workflowTasksFailed, 'workflow_type')),
      time('Failed attempts of activities', by(worker.failures, 'activity', 'code')),
      seconds('Requests to Temporal: duration', ...quantiles(temporalMetrics.requestTime)),
    ],
  },
];

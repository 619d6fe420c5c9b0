/** Which Events people are notified of outside of the cluster, how urgent they are, and what can be done about them. Pure. */

import { eventReasons, type EventReason } from '../../contract/ids.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import { type Notification, type NotificationSeverity, severities } from '../../contract/notify/notification.ts';
import type { NotificationSettings } from '../../contract/settings/notifications.schema.ts';
import { oneLine } from '../../contract/text.ts';
import type { Announcement } from '../../contract/wire/activities.ts';

interface Meaning {
  readonly severity: NotificationSeverity;
  readonly next?: string;
  /** `JOB` and `NODE` stand for what it is about. */
  readonly stop?: string;
  readonly resolves?: true;
}

const recover = 'kcover recover JOB --reason "..."';
const pauseJob = 'kcover pause JOB --reason "..."';
const releaseNode = 'kcover node release NODE --reason "..."';
const cancelMaintenance = 'kcover node maintain NODE --cancel';

/** Events that are not here are for those who look at the object. */
const meanings: Readonly<Partial<Record<EventReason, Meaning>>> = {
  [eventReasons.quarantined]: {
    severity: 'warning',
    next: 'new pods stay off the node, and the jobs on it that opted in are restarted on others',
    stop: releaseNode,
  },
  [eventReasons.quarantineHeld]: {
    severity: 'critical',
    next: 'it is asked again when a node returns; its jobs wait meanwhile',
    stop: 'kcover node quarantine NODE --reason "..." (beyond the limit), or kcover node list to find one to release',
  },
  [eventReasons.released]: { severity: 'info', resolves: true },
  [eventReasons.releaseFailed]: { severity: 'warning', stop: releaseNode },
  [eventReasons.storm]: {
    severity: 'critical',
    next: 'quarantines go on within the limits, and repairs wait',
    stop: 'kcover pause --reason "..."',
  },
  [eventReasons.remedyEnded]: { severity: 'warning', stop: releaseNode },
  [eventReasons.maintenancePlanned]: {
    severity: 'info',
    next: 'the node is quarantined shortly before, and its opted-in jobs move',
    stop: cancelMaintenance,
  },
  [eventReasons.maintenanceHeld]: {
    severity: 'warning',
    next: 'it is asked again until the maintenance would end',
    stop: cancelMaintenance,
  },
  [eventReasons.maintenanceReady]: { severity: 'info', stop: cancelMaintenance },
  [eventReasons.maintenanceEnded]: { severity: 'info', resolves: true },
  [eventReasons.recoveryStarted]: {
    severity: 'warning',
    next: 'all pods of the job are stopped together and started again',
    stop: pauseJob,
  },
  [eventReasons.approvalAsked]: {
    severity: 'critical',
    next: 'without an answer the default of the settings applies',
    stop: 'kcover approve JOB --reason "...", or kcover deny JOB --reason "..."',
  },
  [eventReasons.recoveryHeld]: { severity: 'warning', stop: recover },
  [eventReasons.recovered]: { severity: 'info', resolves: true },
  [eventReasons.restarted]: { severity: 'warning', next: 'nothing: whether it trains was not seen', resolves: true },
  [eventReasons.recoveryRefused]: { severity: 'warning', stop: recover, resolves: true },
  [eventReasons.recoveryEnded]: {
    severity: 'critical',
    next: 'nothing until a person acts',
    stop: recover,
    resolves: true,
  },
  [eventReasons.recoveryStuck]: { severity: 'critical' },
  [eventReasons.trainingHangs]: { severity: 'warning', stop: recover },
  [eventReasons.trainingSlow]: { severity: 'info' },
  [eventReasons.podLogLine]: { severity: 'info' },
  [eventReasons.notRecoverable]: { severity: 'warning' },
  [eventReasons.preflightFailed]: { severity: 'warning' },
  [eventReasons.jobPaused]: { severity: 'info' },
};

export interface NotificationContext {
  /** ms since the epoch */
  readonly at: number;
  /** Address of the Temporal UI with its namespace. */
  readonly ui?: string | undefined;
  /** SHA-256, hex. */
  readonly digest: (text: string) => string;
}

/** Undefined for an Event that is no notification. */
export function notificationOf(
  { about, reason, message, key, storm }: Announcement,
  { at, ui, digest }: NotificationContext,
): Notification | undefined {
  const meaning = meanings[reason];
  if (!meaning || storm !== undefined) return undefined;
  const job = about.kind === 'job' ? jobTitle(about.job) : undefined;
  const node = about.kind === 'node' ? about.name : undefined;
  const namespace = about.kind === 'job' ? about.job.namespace : about.kind === 'pod' ? about.namespace : undefined;
  const subject =
    node === undefined
      ? `${job ?? (about.kind === 'pod' ? `pod/${about.name}` : '')} in ${namespace ?? ''}`
      : `node ${node}`;
  const { severity, next, stop, resolves = false } = meaning;
  const uid = about.kind === 'job' ? about.job.uid : (about.uid ?? '');
  const incident = incidentIn(key);
  const workflow = workflowOf(incident);
  return {
    schema: 1,
    id: digest([key, reason, subject, uid].join('\n')).slice(0, 24),
    reason,
    severity,
    about: subject,
    ...(namespace !== undefined && { namespace }),
    ...(job !== undefined && { job }),
    ...(node !== undefined && { node }),
    incident,
    message: oneLine(message, 1024),
    ...(next !== undefined && { next }),
    ...(stop !== undefined && {
      stop: stop.replaceAll('JOB', `${job ?? ''} -n ${namespace ?? ''}`).replaceAll('NODE', node ?? ''),
    }),
    ...(ui !== undefined && workflow !== undefined && { link: `${ui}/workflows/${encodeURIComponent(workflow)}` }),
    at: new Date(at).toISOString(),
    resolves,
  };
}

/** Keys of Events begin with the incident where they have one, and go on with what tells the Events of it apart. */
const incidentIn = (key: string): string =>
  /^(?:recovery\/[^/]+\/[^/]+\/[^/]+|node\/[^/]+|maintenance\/[^/]+)\/[^/#]+/.exec(key)?.[0] ?? key;

/** A recovery is its own workflow; an incident of a node is a part of the workflow of the node. */
function workflowOf(incident: string): string | undefined {
  if (incident.startsWith('recovery/')) return incident;
  return /^(?:node|maintenance)\/[^/]+/.exec(incident)?.[0];
}

/** Names of the routes that carry it. What ends something goes wherever its begin may have gone. `wanted`: the routes that the job names. */
export const routesFor = (
  { severity, reason, namespace, resolves }: Notification,
  { routes }: Pick<NotificationSettings, 'routes'>,
  wanted: readonly string[] = [],
): readonly string[] =>
  routes
    .filter(
      (route) =>
        (!route.subscribe || wanted.includes(route.name)) &&
        (resolves || severities.indexOf(severity) >= severities.indexOf(route.severity)) &&
        (resolves || route.reasons === undefined || route.reasons.includes(reason)) &&
        (namespace === undefined || route.namespaces === undefined || route.namespaces.includes(namespace)),
    )
    .map(({ name }) => name);

/** One notification for several that wait. */
export function folded(all: readonly Notification[], more: number): Notification {
  const [first] = all as readonly [Notification, ...Notification[]];
  if (all.length === 1 && more === 0) return first;
  const worst = severities.findLast((severity) => all.some((one) => one.severity === severity)) ?? first.severity;
  const count = all.length + more;
  const lines = all.slice(-10).map(({ about, reason, message }) => `${about}: ${reason}: ${message}`);
  return {
    schema: 1,
    id: `folded-${first.id}`,
    reason: 'Folded',
    severity: worst,
    about: 'several jobs and nodes',
    incident: first.incident,
    message: `${count} notifications, the last: ${lines.join('; ')}`.slice(0, 4000),
    stop: 'kcover incidents lists all',
    at: (all.at(-1) ?? first).at,
    resolves: false,
    folded: count,
  };
}

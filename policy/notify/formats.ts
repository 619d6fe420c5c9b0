/**
 * Bodies of notifications in the formats of receivers. Pure.
 * Sources: CloudEvents 1.0.2 JSON format; Alertmanager API v2 `postAlerts`; Slack incoming webhooks; PagerDuty Events API v2.
 */

import type { Notification } from '../../contract/notify/notification.ts';
import { folded } from './notification.ts';
import type { NotificationFormat } from '../../contract/settings/notifications.schema.ts';

const json = 'application/json';

export interface NotificationBody {
  readonly contentType: string;
  readonly body: unknown;
}

/** `secret`: the integration key of PagerDuty; other formats have theirs in a header. */
export function bodyOf(format: NotificationFormat, notification: Notification, secret = ''): NotificationBody {
  switch (format) {
    case 'webhook':
      return { contentType: json, body: notification };
    case 'cloudevents':
      return { contentType: 'application/cloudevents+json', body: cloudEvent(notification) };
    case 'alertmanager':
      return { contentType: json, body: [alert(notification)] };
    case 'slack':
      return { contentType: json, body: { text: slackText(notification) } };
    case 'pagerduty':
      return { contentType: json, body: pagerDutyEvent(notification, secret) };
  }
}

/**
 * What is sent for notifications that wait together. Where each begins or ends something, each is sent; else one stands for all. `more`: older ones
 * that were not kept.
 */
export function bodiesOf(
  format: NotificationFormat,
  notifications: readonly Notification[],
  more: number,
  secret?: string,
): readonly NotificationBody[] {
  switch (format) {
    case 'alertmanager':
      return [{ contentType: json, body: notifications.map(alert) }];
    case 'pagerduty':
      return notifications.map((one) => bodyOf(format, one, secret));
    default:
      return [bodyOf(format, folded(notifications, more), secret)];
  }
}

const cloudEvent = (notification: Notification) => ({
  specversion: '1.0',
  id: notification.id,
  source: '/kcover',
  type: `io.kcover.${notification.reason}`,
  subject: notification.about,
  time: notification.at,
  datacontenttype: 'application/json',
  data: notification,
});

/** What an alert is about: a begin and its end must have the same labels. */
function alertName({ reason, incident }: Notification): string {
  if (incident.startsWith('recovery/')) return 'KcoverRecovery';
  return incident.startsWith('node/') ? 'KcoverQuarantine' : `Kcover${reason}`;
}

function alert(notification: Notification) {
  const { incident, namespace, job, node, message, next, stop, link, at, severity, resolves } = notification;
  const annotations = { summary: message, severity, ...(next && { next }), ...(stop && { stop }) };
  return {
    labels: {
      alertname: alertName(notification),
      incident,
      ...(namespace !== undefined && { namespace }),
      ...(job !== undefined && { job_name: job }),
      ...(node !== undefined && { node }),
    },
    annotations,
    // Without an end Alertmanager takes it for over after its `resolve_timeout`, because nothing sends it again.
    startsAt: at,
    endsAt: resolves ? at : new Date(Date.parse(at) + alertLastsMs).toISOString(),
    ...(link !== undefined && { generatorURL: link }),
  };
}

/** A recovery may wait a day for placement. */
const alertLastsMs = 24 * 3_600_000;

const slackSigns: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const inSlack = (text: string): string =>
  text.replaceAll(/[&<>]/g, (sign) => slackSigns[sign] ?? '').replaceAll(/[*_~`]/g, ' ');

function slackText({ severity, about, reason, message, next, stop, link, incident }: Notification): string {
  const rows = [
    `*${severity}: ${inSlack(about)}: ${inSlack(reason)}*`,
    inSlack(message),
    ...(next === undefined ? [] : [`Next: ${inSlack(next)}`]),
    ...(stop === undefined
      ? []
      : [`To change that: \`${stop.replaceAll('`', ' ').replaceAll(/[&<>]/g, (sign) => slackSigns[sign] ?? '')}\``]),
    `Incident ${inSlack(incident)}${link === undefined ? '' : ` <${link}|in the Temporal UI>`}`,
  ];
  return rows.join('\n');
}

const pagerDutyEvent = (notification: Notification, secret: string) => ({
  routing_key: secret,
  event_action: notification.resolves ? 'resolve' : 'trigger',
  dedup_key: `kcover/${notification.incident}`.slice(0, 255),
  payload: {
    summary: `${notification.about}: ${notification.message}`.slice(0, 1024),
    source: 'kcover',
    severity: notification.severity,
    timestamp: notification.at,
    component: notification.about,
    custom_details: notification,
  },
  ...(notification.link !== undefined && { links: [{ href: notification.link, text: 'Temporal UI' }] }),
});

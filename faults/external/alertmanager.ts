/** Alerts of Prometheus, as Alertmanager's webhook sends them: the code is the name of the alert. */

import type { ExternalReport } from '../../contract/wire/external.ts';
import type { AlertmanagerWebhook } from '../../contract/wire/external.schema.ts';
import { oneLine } from '../../contract/text.ts';
import { atMost, codeIn, deviceIn, type MappedReports, whyUnusable } from './report.ts';

export interface AlertLabels {
  /** The label that names the node. */
  readonly node: string;
  /** The label that names the device. */
  readonly device?: string | undefined;
}

type Alert = AlertmanagerWebhook['alerts'][number];

export function fromAlertmanager({ alerts }: AlertmanagerWebhook, labels: AlertLabels): MappedReports {
  const mapped = alerts.map((alert) => ({
    alert,
    because: whyUnusable(own(alert.labels, labels.node), codeOf(alert)),
  }));
  return atMost({
    reports: mapped.flatMap(({ alert, because }) => (because === undefined ? [reportOf(alert, labels)] : [])),
    unusable: mapped.flatMap(({ alert, because }) =>
      because === undefined
        ? []
        : [
            {
              what: oneLine(own(alert.labels, 'alertname') ?? 'alert', 80),
              because: `${because} (label ${labels.node})`,
            },
          ],
    ),
  });
}

function reportOf(alert: Alert, labels: AlertLabels): ExternalReport {
  const device = labels.device === undefined ? '' : deviceIn(own(alert.labels, labels.device) ?? '');
  const { annotations } = alert;
  return {
    source: 'alertmanager',
    node: own(alert.labels, labels.node) ?? '',
    code: codeOf(alert),
    ...(device !== '' && { device }),
    state: alert.status === 'firing' ? 'occur' : 'recover',
    // While it fires, its end is the year 1.
    at: alert.status === 'firing' ? alert.startsAt : alert.endsAt,
    text:
      own(annotations, 'summary') ?? own(annotations, 'description') ?? own(annotations, 'message') ?? codeOf(alert),
  };
}

const codeOf = ({ labels }: Alert): string => codeIn(own(labels, 'alertname') ?? '');

const own = (values: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(values, key) ? values[key] : undefined;

/** Bodies of requests, as reports: in kcover's own form, or in the format that the path names. */

import { type ExternalFormat, externalPath } from '../../contract/wire/external.ts';
import {
  alertmanagerWebhook,
  externalReports,
  mindclusterFaults,
  nvsentinelEvent,
} from '../../contract/wire/external.schema.ts';
import type { ExternalSender } from '../../contract/settings/external.schema.ts';
import { fromAlertmanager } from '../../faults/external/alertmanager.ts';
import { fromMindcluster } from '../../faults/external/mindcluster.ts';
import { fromNvsentinel } from '../../faults/external/nvsentinel.ts';
import type { MappedReports } from '../../faults/external/report.ts';
import { firstIssue, type Refusal, refused } from '../intake/reporter.ts';

type Reader = (body: unknown, sender: ExternalSender) => MappedReports | Refusal;

type Parsed<T> =
  | { readonly success: true; readonly data: T }
  | { readonly success: false; readonly error: { readonly issues: Parameters<typeof firstIssue>[0] } };

const read = <T>(parsed: Parsed<T>, map: (data: T) => MappedReports): MappedReports | Refusal =>
  parsed.success ? map(parsed.data) : refused('malformed', firstIssue(parsed.error.issues));

const readers: Readonly<Record<ExternalFormat, Reader>> = {
  alertmanager: (body, { nodeLabel, deviceLabel }) =>
    read(alertmanagerWebhook.safeParse(body), (webhook) =>
      fromAlertmanager(webhook, { node: nodeLabel, device: deviceLabel }),
    ),
  nvsentinel: (body) => read(nvsentinelEvent.safeParse(body), fromNvsentinel),
  mindcluster: (body) => read(mindclusterFaults.safeParse(body), fromMindcluster),
};

/** By the path of the request. */
export const externalReaders: Readonly<Record<string, Reader>> = {
  [externalPath]: (body) => read(externalReports.safeParse(body), (reports) => ({ reports, unusable: [] })),
  ...Object.fromEntries(Object.entries(readers).map(([format, reader]) => [`${externalPath}/${format}`, reader])),
};

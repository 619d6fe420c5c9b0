/** Settings of lines that are read from Loki: of kernels, and of pods. */

import { z } from 'zod';
import { isObjectName } from '../object-names.ts';
import { formatDuration } from './duration.ts';
import { duration } from './values.schema.ts';

const query = z.strictObject({
  name: z
    .string()
    .max(63)
    .refine(isObjectName, { error: 'must be the name of a Kubernetes object' })
    .describe('Of your choice; under this name its position is stored, and metrics name it'),
  query: z.string().min(1).max(4096).describe('LogQL for lines of the kernel log; it must not select what pods write'),
  nodeLabel: z
    .string()
    .min(1)
    .max(256)
    .default('k8s_node_name')
    .describe('Label, or structured metadata, with the name of the Kubernetes node'),
  trusted: z
    .boolean()
    .default(false)
    .describe(
      'Whether only a node itself can write lines with its name; without it a line leads at most to the response `ask`, and no rule over time counts it',
    ),
});

const label = z.string().min(1).max(256);

const podQuery = z.strictObject({
  name: z
    .string()
    .max(40)
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, { error: 'must be lower-case letters, digits and hyphens' })
    .describe('Of your choice; its faults have the code `pod-log/NAME`, and under this name its position is stored'),
  query: z
    .string()
    .min(1)
    .max(4096)
    .describe('LogQL that selects only lines which matter: each one is a fault of the job of its pod'),
  namespaceLabel: label
    .default('k8s_namespace_name')
    .describe('Label, or structured metadata, with the namespace of the pod'),
  podLabel: label.default('k8s_pod_name').describe('Label, or structured metadata, with the name of the pod'),
  uidLabel: label
    .default('k8s_pod_uid')
    .describe('Label, or structured metadata, with the UID of the pod; lines may lack it'),
  restart: z
    .boolean()
    .default(false)
    .describe('Whether such a line restarts the job within its budget; without it there is only an Event'),
  trusted: z
    .boolean()
    .default(false)
    .describe('Whether nobody else can push lines with the name of a pod; needed for `restart`'),
});

export const lokiSettings = z
  .strictObject({
    url: z
      .string()
      .max(2048)
      .regex(/^https?:\/\/[^\s?#@]+$/, { error: 'must be an http or https address, without a password' })
      .optional()
      .describe('Address below which /loki/api/v1 is found, such as http://loki.loki.svc:3100'),
    tenant: z
      .string()
      .regex(/^[\w!.*'()-]{1,150}$/, { error: 'must be the name of a tenant' })
      .optional()
      .describe('Sent as X-Scope-OrgID'),
    tokenFile: z.string().min(1).optional().describe('File with a token that is sent as bearer token'),
    queries: z.array(query).max(10).default([]).describe('Lines of kernels that are asked for. See [Loki](../loki.md)'),
    podQueries: z
      .array(podQuery)
      .max(10)
      .default([])
      .describe('Lines of pods that are asked for. See [lines of pods](../loki.md#lines-of-pods)'),
    interval: duration('10s').describe('Between two looks'),
    delay: duration('10s').describe('Lines younger than this are read with the next look'),
    overlap: duration('5m').describe('How far each look goes back before the last one, for lines that arrive late'),
    oldest: duration('1h').describe('Older lines are not read after an outage'),
    silent: duration('0s').describe(
      'A query without a new line for this long is silent; 0s: never. For queries that also select ordinary lines',
    ),
    page: z.int().min(1).max(5000).default(1000).describe('Lines of one answer'),
    timeout: duration('30s').describe('How long an answer may take'),
  })
  .superRefine(({ url, queries, podQueries, overlap, oldest }, found) => {
    const names = [...queries, ...podQueries].map(({ name }) => name);
    if (names.length > 0 && url === undefined)
      found.addIssue({ code: 'custom', path: ['url'], message: 'is needed for queries of Loki' });
    if (new Set(names).size < names.length)
      found.addIssue({ code: 'custom', path: ['queries'], message: 'two queries have the same name' });
    for (const [at, { restart, trusted }] of podQueries.entries())
      if (restart && !trusted) {
        const message = 'needs trusted: whoever may push lines could restart any job';
        found.addIssue({ code: 'custom', path: ['podQueries', at, 'restart'], message });
      }
    if (overlap > oldest) {
      const message = `must be at most oldest: ${formatDuration(overlap)} is more than ${formatDuration(oldest)}`;
      found.addIssue({ code: 'custom', path: ['overlap'], message, params: { remedy: 'overlap <= oldest' } });
    }
  })
  .prefault({})
  .describe('Lines of kernels and of pods from Loki; without a query it is not used');

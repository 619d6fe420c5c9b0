/** Settings of notifications, a part of the worker's. */

import { z } from 'zod';
import { routeName, severities } from '../notify/notification.ts';
import { duration } from './values.schema.ts';

export const notificationFormats = ['webhook', 'cloudevents', 'alertmanager', 'slack', 'pagerduty'] as const;
export type NotificationFormat = (typeof notificationFormats)[number];

const httpUrl = z.url({ protocol: /^https?$/ }).max(2000);
const file = z.string().min(1).max(500);

const route = z
  .strictObject({
    name: z.string().regex(routeName, {
      error: 'must be lower-case letters, digits and hyphens, at most 40 characters',
    }),
    format: z.enum(notificationFormats),
    url: httpUrl
      .optional()
      .describe('Where to send; for alertmanager its base address, such as http://alertmanager:9093'),
    urlFile: file.optional().describe('Mounted file with the address, where that is a secret, as for Slack'),
    tokenFile: file
      .optional()
      .describe('Mounted file with a bearer token; for pagerduty with the integration key, which it needs'),
    severity: z.enum(severities).default('warning').describe('The least severity that is sent'),
    reasons: z.array(z.string().max(60)).max(100).optional().describe('Reasons of Events; left out: all'),
    namespaces: z
      .array(z.string().max(63))
      .max(1000)
      .optional()
      .describe('Namespaces of jobs; left out: all. Notifications about nodes are in every namespace'),
    subscribe: z
      .boolean()
      .default(false)
      .describe('Only jobs whose annotation `kcover.io/notify` names the route, and no nodes: their owners choose it'),
    timeout: duration('10s', 25_000),
  })
  .refine(({ url, urlFile, format }) => format === 'pagerduty' || (url === undefined) !== (urlFile === undefined), {
    error: 'needs either url or urlFile',
  })
  .refine(({ format, tokenFile }) => format !== 'pagerduty' || tokenFile !== undefined, {
    error: 'of the format pagerduty needs tokenFile, with its integration key',
  });
export type NotificationRoute = z.infer<typeof route>;

/** `notifications` of the worker's settings. */
export const notifications = z
  .strictObject({
    ui: httpUrl
      .optional()
      .describe('Address of the Temporal UI with its namespace, such as https://temporal.example/namespaces/default'),
    routes: z
      .array(route)
      .max(20)
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, {
        error: 'has a name twice',
      })
      .default([]),
  })
  .prefault({})
  .describe('Who is notified of decisions, outside of the cluster');
export type NotificationSettings = z.infer<typeof notifications>;

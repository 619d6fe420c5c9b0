/** Validation of what others report, in kcover's own form and in theirs. Fields that kcover does not use are not read. */

import { z } from 'zod';
import { actions } from '../faults/faults.ts';
import { isObjectName } from '../object-names.ts';
import { identifier, time } from '../plain-line.schema.ts';
import { externalLimits, type ExternalReport, externalStates } from './external.ts';

const externalReport = z.strictObject({
  source: identifier(externalLimits.source).min(1),
  node: z.string().max(253).refine(isObjectName, { error: 'is no name of a node' }),
  code: identifier(externalLimits.code).regex(/^[\w.-]+$/, 'is no code'),
  device: identifier(externalLimits.device).min(1).exactOptional(),
  action: z.enum(actions).exactOptional(),
  state: z.enum(externalStates),
  at: time,
  text: z.string().max(10_000),
}) satisfies z.ZodType<ExternalReport>;

/** One report, or a list of them. */
export const externalReports = z.preprocess(
  (body) => (Array.isArray(body) ? body : [body]),
  z.array(externalReport).min(1).max(100),
);

const someText = z.string().max(10_000);
const labels = z.record(z.string().max(1000), someText);

/** Webhook of Alertmanager, version 4. Source: `template.Data` and `webhook.Message` of prometheus/alertmanager. */
export const alertmanagerWebhook = z.object({
  version: z.literal('4'),
  alerts: z
    .array(
      z.object({
        status: z.enum(['firing', 'resolved']),
        labels,
        annotations: labels.default({}),
        startsAt: time,
        endsAt: time,
      }),
    )
    .max(externalLimits.reports),
});
export type AlertmanagerWebhook = z.infer<typeof alertmanagerWebhook>;

/** CloudEvent of NVSentinel. Source: `event-exporter/pkg/transformer/cloudevents.go` of NVIDIA/NVSentinel. */
export const nvsentinelEvent = z.object({
  type: z.literal('com.nvidia.nvsentinel.health.v1'),
  data: z.object({
    healthEvent: z.object({
      agent: someText.default(''),
      checkName: someText,
      isHealthy: z.boolean(),
      message: someText.default(''),
      recommendedAction: z.int(),
      errorCode: z.array(someText).max(100).default([]),
      entitiesImpacted: z
        .array(z.object({ entityType: someText, entityValue: someText }))
        .max(100)
        .default([]),
      generatedTimestamp: time,
      nodeName: someText,
    }),
  }),
});
export type NvsentinelEvent = z.infer<typeof nvsentinelEvent>;

const milliseconds = z.int().min(0).max(8.64e15);

/** Public faults of MindCluster. Source: `public_fault_reporting` of the ClusterD documents of Ascend/mind-cluster, limits included. */
export const mindclusterFaults = z.object({
  version: z.literal('1.0'),
  resource: someText,
  faults: z
    .array(
      z.object({
        faultCode: z.string().regex(/^\d{9}$/, 'is no code of nine digits'),
        faultTime: milliseconds,
        assertion: z.enum(externalStates),
        influence: z
          .array(
            z.object({
              nodeName: someText.optional(),
              nodeSN: someText.optional(),
              deviceIds: z.array(z.int().min(0).max(31)).max(32).default([]),
            }),
          )
          .max(1000),
        description: someText.default(''),
      }),
    )
    .max(100),
});
export type MindclusterFaults = z.infer<typeof mindclusterFaults>;

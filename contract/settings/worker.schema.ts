/** Settings of the worker, with all defaults. */

import { z } from 'zod';
import { actions } from '../faults/faults.ts';
import { sourcesAbout, traitsOf } from '../faults/sources.ts';
import { preflightRules } from '../preflight/preflight.ts';
import { judgement } from './judgement.schema.ts';
import { notifications } from './notifications.schema.ts';
import { remediation } from './remediation.schema.ts';
import { recoverySettings } from '../recovery/settings.schema.ts';
import { age, duration, health, labelKey, log, taint, temporal } from './values.schema.ts';

/**
 * Response to a fault code. `restart` recovers the jobs on the node and leaves the node itself in service. `ask` keeps new pods off the node, leaves
 * its jobs alone, and asks a person.
 */
export const responses = ['record', 'warn', 'restart', 'ask', 'quarantine'] as const;
const response = z.enum(['record', 'warn', 'quarantine']);
const anyResponse = z.enum(responses);
export type Response = (typeof responses)[number];

/** A code of a fault of a node. */
const code = z.string().regex(
  new RegExp(
    sourcesAbout('node')
      .map((source) => traitsOf(source).codes.source)
      .join('|'),
  ),
  { error: 'must be a code such as xid/79 or sxid/20034' },
);

const atLeast = z.int().min(0);
const percent = z.number().min(0).max(100);

const faults = z
  .strictObject({
    responses: z
      .strictObject({
        ...(Object.fromEntries(
          actions.map((action) => [
            action,
            anyResponse.default(action === 'ignore' || action === 'restart-app' ? 'record' : 'quarantine'),
          ]),
        ) as Record<(typeof actions)[number], z.ZodDefault<typeof anyResponse>>),
        retired: anyResponse.default('warn').describe('Codes that current hardware no longer emits'),
        unknown: anyResponse
          .default('ask')
          .describe(
            'Codes that the catalogue does not know; ask: new pods stay off the node, its jobs are left alone, and a person decides',
          ),
        notReady: z
          .enum(['record', 'warn', 'restart', 'quarantine'])
          .default('restart')
          .describe(
            'node/not-ready: the kubelet no longer answers; Kubernetes keeps new pods off the node until it is ready again',
          ),
      })
      .prefault({})
      .describe('Response of the node to each action of the catalogue'),
    codes: z
      .record(code, anyResponse)
      .default({})
      .describe('The same for single codes; takes precedence over `responses`'),
    ...judgement,
  })
  .prefault({});

/** `kcover worker --config FILE`. */
export const workerSettings = z.strictObject({
  mode: z
    .enum(['observe', 'act'])
    .default('observe')
    .describe("observe: decide and report, change nothing; only an operator's command acts"),
  temporal,
  quarantine: z
    .strictObject({
      taint,
      cordon: z.boolean().default(false).describe('Also set spec.unschedulable'),
      limit: z
        .strictObject({
          atLeast: atLeast.default(2),
          percent: percent.default(10),
          domains: z
            .record(labelKey, z.strictObject({ atLeast: atLeast.default(1), percent: percent.default(25) }))
            .refine((each) => Object.keys(each).length <= 8, { error: 'must name at most 8 labels' })
            .default({})
            .describe(
              'The same for the nodes that have the same value of a label: a pool, a rack, a zone. All limits hold at once',
            ),
        })
        .prefault({})
        .describe(
          'Most nodes quarantined at once: a share of the nodes with accelerators, less those that others keep out (cordoned, or not ready), but never fewer than a number',
        ),
      storm: z
        .strictObject({
          nodes: z
            .int()
            .min(2)
            .max(100)
            .default(3)
            .describe('So many nodes of one domain of `limit.domains`, or of the cluster for nodes without one'),
          within: duration('5m').describe('within this time, quarantined for the same reason, are one incident'),
          quiet: duration('10m').describe(
            'How long none may follow before repairs of them begin, one, two, then four at once',
          ),
        })
        .prefault({})
        .describe(
          'Several nodes with one cause: quarantines go on within the limit, repairs wait, and people are notified once',
        ),
      quiet: duration('1h').describe(
        'How long the workflow of a node keeps running after faults that did not quarantine it',
      ),
      askAgain: duration('5m').describe('How long a refused quarantine waits before it asks again'),
    })
    .prefault({}),
  maintenance: z
    .strictObject({
      lead: duration('15m').describe(
        'How long before a planned maintenance its node is quarantined, so that jobs can save a checkpoint and move',
      ),
    })
    .prefault({})
    .describe('`kcover node maintain`'),
  remediation,
  notifications,
  faults,
  recovery: recoverySettings,
  preflight: z
    .strictObject({
      rule: z
        .enum(preflightRules)
        .default('statistical')
        .describe(
          'statistical: each node is slow, healthy or undetermined, from all bandwidths of the run; strict: a node is slow only if its pair failed in every round',
        ),
      threshold: z
        .number()
        .min(0)
        .default(5)
        .describe('GiB/s below which a pair counts as failed, for reports that set no threshold; 0: none'),
      collection: duration('30m').describe(
        'How long a run waits for the next report; also --preflight-report-collection-timeout',
      ),
      deadline: duration('2h').describe('How long it waits in total'),
      slow: response.default('quarantine').describe('Response to a slow node'),
      failed: response.default('quarantine').describe('Response to a failed GPU check'),
      storage: response
        .default('warn')
        .describe(
          'Response to a failed storage check: storage is shared, so an outage would quarantine one node after the other',
        ),
      limit: z
        .strictObject({ percent: z.number().min(0).max(100).default(50), perNamespace: z.int().min(0).default(4) })
        .prefault({})
        .describe(
          'Most nodes quarantined for a preflight alone: a share of `quarantine.limit`, rounded down, and a number for each namespace',
        ),
    })
    .prefault({}),
  waits: z
    .int()
    .min(1)
    .max(100_000)
    .default(2000)
    .describe(
      'How many stops, restarts, checkpoints and verifications one worker waits for at once; each takes about 0.3 MiB and up to two connections to the Kubernetes API; further ones are queued',
    ),
  records: z
    .strictObject({
      directory: z.string().min(1).default('/var/lib/kcover/records').describe('Where they are stored'),
      keep: age('400d').describe(
        'How long they are kept: a duration of at most 3650d, or forever. By default a year and a month, so that a month can be compared with the same month of the year before',
      ),
      most: z
        .int()
        .min(16_777_216)
        .default(536_870_912)
        .describe('Most bytes in total; the oldest is deleted first. By default half of the volume of the chart'),
      share: z
        .number()
        .min(1)
        .max(100)
        .default(50)
        .describe('Percent of `most` that the recoveries of one namespace may have'),
    })
    .prefault({})
    .describe('Records of incidents'),
  health,
  log,
});
export type WorkerSettings = z.infer<typeof workerSettings>;

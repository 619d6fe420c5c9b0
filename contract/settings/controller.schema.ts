/** Settings of the controller, with all defaults. */

import { z } from 'zod';
import { actions } from '../faults/faults.ts';
import { isObjectName } from '../object-names.ts';
import { preflightLimits } from '../preflight/preflight.ts';
import { roundsAudience } from '../preflight/rounds.ts';
import { agentAudience } from '../wire/reports.ts';
import { formatDuration } from './duration.ts';
import { lokiSettings } from './loki.schema.ts';
import { external } from './external.schema.ts';
import { progressSettings } from './progress.schema.ts';
import { duration, health, listen, log, taint, temporal } from './values.schema.ts';

const conditionType = z.string().regex(/^[A-Za-z](?:[\w./-]{0,48}[A-Za-z0-9])?$/, {
  error: 'must be a condition type of at most 50 letters, digits, dots, slashes and dashes',
});

/** Conditions that others write on nodes. */
const conditions = z
  .strictObject({
    debounce: duration('10s').describe('How long a condition must stay bad before that is a fault'),
    own: z
      .array(
        z.strictObject({
          type: conditionType,
          bad: z.enum(['True', 'False']).describe('The status that reports the fault'),
          action: z
            .enum(actions)
            .optional()
            .describe(
              'What to do about it; `faults.responses` of the worker has the response. Left out: it only warns',
            ),
          meaning: z.string().min(1).max(200).default('a condition of this site'),
        }),
      )
      .max(100)
      .default([])
      .describe('Rows that come before those of kcover'),
    off: z
      .array(z.string().min(1).max(60))
      .max(100)
      .default([])
      .describe('Types of the table whose rows are not used, such as NTPProblem or NT_*'),
    nodesAreReplaced: z
      .boolean()
      .default(false)
      .describe(
        'true: EKS node repair or Karpenter replaces nodes for their conditions, so jobs leave such a node whatever its condition means',
      ),
  })
  .prefault({});

/** ConfigMaps of MindCluster. */
const ascend = z
  .strictObject({
    namespaces: z
      .array(z.string().refine(isObjectName, { error: 'must be the name of a namespace' }))
      .max(10)
      .refine((all) => new Set(all).size === all.length, { error: 'two namespaces have the same name' })
      .default([])
      .describe(
        'Where the device plugin and NodeD of Ascend write their ConfigMaps, usually kube-system and mindx-dl; empty: they are not read. See [Ascend](../node-conditions.md#ascend)',
      ),
    debounce: duration('5s').describe('How long a ConfigMap must show a fault before it counts'),
  })
  .prefault({});

/** `kcover controller --config FILE`. */
export const controllerSettings = z.strictObject({
  temporal,
  taint,
  agents: z
    .strictObject({
      silent: duration('1m').describe(
        'An agent that has not reported for this long is silent: faults of its node may be unknown',
      ),
    })
    .prefault({}),
  jobs: z
    .strictObject({
      lookAgain: duration('10m').describe(
        'How often it checks that each opted-in job has its workflow, and starts one that was terminated or cancelled',
      ),
    })
    .prefault({}),
  nodes: z
    .strictObject({
      notReady: duration('30s').describe(
        'How long a node with accelerators must stay not ready before that is a fault',
      ),
      unobservableAbove: z
        .number()
        .min(1)
        .max(100)
        .default(20)
        .describe(
          'When more than two of them, and more than this share (%), are not ready at once, kcover assumes that its own view of the cluster is stale, and none is a fault',
        ),
      conditions,
      allocatable: z
        .strictObject({
          debounce: duration('1m').describe(
            'How long a node must offer fewer accelerators than the largest count it has had, or a pod must have an unhealthy one, before that is a fault',
          ),
        })
        .prefault({}),
      ascend,
    })
    .prefault({}),
  intake: z
    .strictObject({
      listen: listen('0.0.0.0:8443'),
      tls: z
        .strictObject({ certFile: z.string().min(1), keyFile: z.string().min(1) })
        .prefault({ certFile: '/etc/kcover/tls/tls.crt', keyFile: '/etc/kcover/tls/tls.key' }),
      audience: z.string().min(1).default(agentAudience),
      agentAccount: z
        .string()
        .regex(/^[a-z0-9-]+\/[a-z0-9.-]+$/, { error: 'must be namespace/name of a ServiceAccount' })
        .default('kcover-system-agents/kcover-agent')
        .describe('The only ServiceAccount that may report'),
      limits: z
        .strictObject({
          connections: z
            .int()
            .min(1)
            .default(4096)
            .describe(
              'Open connections, some 40 KiB each; an agent has at most three, a preflight pod one. Where there are more, raise the memory of the controller with it: the default is 160 MiB of its 1 GiB',
            ),
          connectionsFrom: z
            .int()
            .min(1)
            .default(64)
            .describe('Open connections of one address, so that one cannot use up the limit for all'),
          requests: z
            .strictObject({
              perSecond: z.number().min(0.1).default(5).describe('An agent with nothing to report sends one in 5 s'),
              burst: z
                .int()
                .min(1)
                .default(50)
                .describe('A full spool is 17 requests, and all rounds of a preflight are 16'),
            })
            .prefault({})
            .describe('Requests of one pod; above that 429'),
          faults: z
            .strictObject({
              perMinute: z
                .int()
                .min(1)
                .default(200)
                .describe('Faults of one node; further ones wait on the node. Each takes some 3 KiB in Temporal'),
              repeats: z
                .int()
                .min(1)
                .default(20)
                .describe(
                  'Faults of one code on one device, in a minute; further ones are counted and not sent to workflows',
                ),
            })
            .prefault({}),
        })
        .prefault({}),
    })
    .prefault({}),
  external,
  preflight: z
    .strictObject({
      audience: z.string().min(1).default(roundsAudience).describe('Audience of the tokens of preflight pods'),
      rounds: z
        .enum(['adaptive', 'fixed'])
        .default('adaptive')
        .describe('adaptive: only as many rounds as are needed for a verdict on every node'),
      most: z.int().min(1).max(preflightLimits.rounds).default(6).describe('Most rounds of a run'),
      within: duration('5m').describe('How long a round waits for a rank before it continues without it'),
      namespaces: z
        .array(z.string().refine(isObjectName, { error: 'must be the name of a namespace' }))
        .optional()
        .describe('Namespaces whose pods may report a node as slow or broken; left out: all; empty list: none'),
    })
    .prefault({})
    .describe('Rounds that the controller plans for preflight containers that ask for them'),
  progress: progressSettings,
  loki: lokiSettings,
  leaderElection: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe('false: leads at once, without a Lease and without a label; for a single replica only'),
      namespace: z.string().min(1).default('kcover-system'),
      name: z
        .string()
        .min(1)
        .max(63)
        .default('kcover')
        .describe(
          'Name of the Lease, and value of the label on the leading pod: two installations in one namespace need two names',
        ),
      lease: duration('15s').describe('How long other replicas wait after the last renewal'),
      renew: duration('10s').describe('How long the leader continues without a renewal'),
      retry: duration('2s').describe('Between two attempts'),
    })
    .superRefine(({ lease, renew, retry }, found) => {
      const shorter = (key: string, ms: number, than: string, most: number) => {
        const message = `must be shorter than ${than}: ${formatDuration(ms)} is not below ${formatDuration(most)}`;
        if (ms >= most)
          found.addIssue({ code: 'custom', path: [key], message, params: { remedy: 'retry < renew < lease' } });
      };
      shorter('renew', renew, 'lease', lease);
      shorter('retry', retry, 'renew', renew);
    })
    .prefault({}),
  health,
  log,
});
export type ControllerSettings = z.infer<typeof controllerSettings>;

/** Settings of every role, with all defaults. Unknown keys are errors. Durations are written as `30s`, parsed to milliseconds, at most 20 days. */

import { z } from 'zod';
import { formatDuration } from './duration.ts';
import { sourcesOf, traitsOf } from '../faults/sources.ts';
import { actions } from '../faults/faults.ts';
import { agentAudience } from '../wire/reports.ts';
import { defaultTaskQueue, quarantineTaintKey } from '../ids.ts';
import { isObjectName } from '../object-names.ts';
import { preflightLimits, preflightRules } from '../preflight/preflight.ts';
import { roundsAudience } from '../preflight/rounds.ts';
import { recoverySettings } from '../recovery/settings.schema.ts';
import { duration, health, listen, log } from './values.schema.ts';

export { type AgentSettings, agentSettings } from './agent.schema.ts';

/** Response to a fault code. `restart`, for a node that is not ready, recovers its jobs and leaves the node itself to Kubernetes. */
export const responses = ['record', 'warn', 'restart', 'quarantine'] as const;
const response = z.enum(['record', 'warn', 'quarantine']);
export type Response = (typeof responses)[number];

/** A code that an agent may report. */
const code = z.string().regex(
  new RegExp(
    sourcesOf('agent')
      .map((source) => traitsOf(source).codes.source)
      .join('|'),
  ),
  { error: 'must be a code such as xid/79 or sxid/20034' },
);

const labelKey = z.string().regex(/^([a-z0-9.-]+\/)?[A-Za-z0-9][\w.-]{0,62}$/, { error: 'must be a Kubernetes label key' });

const taint = z
  .strictObject({
    key: labelKey.default(quarantineTaintKey).describe('Key of the quarantine taint'),
    value: z.string().max(63).optional().describe('Value of the taint; without it the reason, such as xid-79'),
    effect: z.enum(['NoSchedule', 'NoExecute', 'PreferNoSchedule']).default('NoSchedule'),
  })
  .prefault({});

const faults = z
  .strictObject({
    responses: z
      .strictObject({
        ...(Object.fromEntries(
          actions.map((action) => [action, response.default(action === 'ignore' || action === 'restart-app' ? 'record' : 'quarantine')]),
        ) as Record<(typeof actions)[number], z.ZodDefault<typeof response>>),
        retired: response.default('warn').describe('Codes that current hardware no longer emits'),
        unknown: response.default('warn').describe('Codes that the catalogue does not know'),
        notReady: z
          .enum(responses)
          .default('restart')
          .describe('node/not-ready: the kubelet no longer answers; Kubernetes keeps new pods off the node until it is ready again'),
      })
      .prefault({})
      .describe('Response of the node to each action of the catalogue'),
    codes: z.record(code, response).default({}).describe('The same for single codes; takes precedence over `responses`'),
  })
  .prefault({});

const temporal = z.strictObject({ taskQueue: z.string().min(1).max(200).default(defaultTaskQueue) }).prefault({});

/** `kcover worker --config FILE`. */
export const workerSettings = z.strictObject({
  mode: z.enum(['observe', 'act']).default('observe').describe("observe: decide and report, change nothing; only an operator's command acts"),
  temporal,
  quarantine: z
    .strictObject({
      taint,
      cordon: z.boolean().default(false).describe('Also set spec.unschedulable'),
      limit: z
        .strictObject({ atLeast: z.int().min(0).default(2), percent: z.number().min(0).max(100).default(10) })
        .prefault({})
        .describe('Most nodes quarantined at once: the larger of a number and a share of the nodes with accelerators'),
      quiet: duration('1h').describe('How long the workflow of a node keeps running after faults that did not quarantine it'),
      askAgain: duration('5m').describe('How long a refused quarantine waits before it asks again'),
    })
    .prefault({}),
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
      threshold: z.number().min(0).default(5).describe('GiB/s below which a pair counts as failed, for reports that set no threshold; 0: none'),
      collection: duration('30m').describe('How long a run waits for the next report; also --preflight-report-collection-timeout'),
      deadline: duration('2h').describe('How long it waits in total'),
      slow: response.default('quarantine').describe('Response to a slow node'),
      failed: response.default('quarantine').describe('Response to a failed GPU check'),
      storage: response
        .default('warn')
        .describe('Response to a failed storage check: storage is shared, so an outage would quarantine one node after the other'),
      limit: z
        .strictObject({ percent: z.number().min(0).max(100).default(50), perNamespace: z.int().min(0).default(4) })
        .prefault({})
        .describe('Most nodes quarantined for a preflight alone: a share of `quarantine.limit`, rounded down, and a number for each namespace'),
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
  records: z.strictObject({ directory: z.string().min(1).default('/var/lib/kcover/records') }).prefault({}),
  health,
  log,
});
export type WorkerSettings = z.infer<typeof workerSettings>;

/** `kcover controller --config FILE`. */
export const controllerSettings = z.strictObject({
  temporal,
  taint,
  agents: z
    .strictObject({ silent: duration('1m').describe('An agent that has not reported for this long is silent: faults of its node may be unknown') })
    .prefault({}),
  jobs: z
    .strictObject({
      lookAgain: duration('10m').describe('How often it checks that each opted-in job has its workflow, and starts one that was terminated or cancelled'),
    })
    .prefault({}),
  nodes: z
    .strictObject({
      notReady: duration('30s').describe('How long a node with accelerators must stay not ready before that is a fault'),
      unobservableAbove: z
        .number()
        .min(1)
        .max(100)
        .default(20)
        .describe(
          'When more than two of them, and more than this share (%), are not ready at once, kcover assumes that its own view of the cluster is stale, and none is a fault',
        ),
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
          connectionsFrom: z.int().min(1).default(64).describe('Open connections of one address, so that one cannot use up the limit for all'),
          requests: z
            .strictObject({
              perSecond: z.number().min(0.1).default(5).describe('An agent with nothing to report sends one in 5 s'),
              burst: z.int().min(1).default(50).describe('A full spool is 17 requests, and all rounds of a preflight are 16'),
            })
            .prefault({})
            .describe('Requests of one pod; above that 429'),
          faults: z
            .strictObject({
              perMinute: z.int().min(1).default(200).describe('Faults of one node; further ones wait on the node. Each takes some 3 KiB in Temporal'),
              repeats: z.int().min(1).default(20).describe('Faults of one code on one device, in a minute; further ones are counted and not sent to workflows'),
            })
            .prefault({}),
        })
        .prefault({}),
    })
    .prefault({}),
  preflight: z
    .strictObject({
      audience: z.string().min(1).default(roundsAudience).describe('Audience of the tokens of preflight pods'),
      rounds: z.enum(['adaptive', 'fixed']).default('adaptive').describe('adaptive: only as many rounds as are needed for a verdict on every node'),
      most: z.int().min(1).max(preflightLimits.rounds).default(6).describe('Most rounds of a run'),
      within: duration('5m').describe('How long a round waits for a rank before it continues without it'),
      namespaces: z
        .array(z.string().refine(isObjectName, { error: 'must be the name of a namespace' }))
        .optional()
        .describe('Namespaces whose pods may report a node as slow or broken; left out: all; empty list: none'),
    })
    .prefault({})
    .describe('Rounds that the controller plans for preflight containers that ask for them'),
  progress: z
    .strictObject({
      every: duration('15s').describe('Least time between two writes of the progress annotations of one job'),
      hang: z
        .strictObject({
          times: z.number().min(1).default(20).describe('Training hangs when no step comes for so many times its median step'),
          least: duration('10m').describe('At least this long without a step'),
        })
        .prefault({}),
    })
    .prefault({}),
  leaderElection: z
    .strictObject({
      enabled: z.boolean().default(true).describe('false: leads at once, without a Lease and without a label; for a single replica only'),
      namespace: z.string().min(1).default('kcover-system'),
      name: z
        .string()
        .min(1)
        .max(63)
        .default('kcover')
        .describe('Name of the Lease, and value of the label on the leading pod: two installations in one namespace need two names'),
      lease: duration('15s').describe('How long other replicas wait after the last renewal'),
      renew: duration('10s').describe('How long the leader continues without a renewal'),
      retry: duration('2s').describe('Between two attempts'),
    })
    .superRefine(({ lease, renew, retry }, found) => {
      const shorter = (key: string, ms: number, than: string, most: number) => {
        const message = `must be shorter than ${than}: ${formatDuration(ms)} is not below ${formatDuration(most)}`;
        if (ms >= most) found.addIssue({ code: 'custom', path: [key], message, params: { remedy: 'retry < renew < lease' } });
      };
      shorter('renew', renew, 'lease', lease);
      shorter('retry', retry, 'renew', renew);
    })
    .prefault({}),
  health,
  log,
});
export type ControllerSettings = z.infer<typeof controllerSettings>;

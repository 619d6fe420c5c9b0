/** Settings of every role, with all defaults. Unknown keys are errors; durations are written `30s` and read as milliseconds. */

import { z } from 'zod';
import { formatDuration, parseDuration } from './duration.ts';
import { actions } from './faults.ts';
import { agentAudience } from './reports.ts';
import { defaultTaskQueue, quarantineTaintKey } from './ids.ts';
import { type JobKind, jobKinds, stopMethods } from './jobs.ts';
import { preflightLimits, preflightRules } from './preflight.ts';
import { roundsAudience } from './preflight-rounds.ts';

/** A duration setting: text in the file, milliseconds in the program. */
const duration = (byDefault: string, most = Infinity) =>
  z
    .string()
    .refine((text) => parseDuration(text) !== undefined, { error: 'must be a duration such as 500ms, 30s, 10m or 1h' })
    .transform((text) => parseDuration(text) ?? 0)
    .refine((ms) => ms <= most, { error: `must be at most ${formatDuration(most)}` })
    .prefault(byDefault);

/** What a code leads to. `restart`, for a node that is not ready, recovers the jobs on it and leaves the node itself to Kubernetes. */
export const responses = ['record', 'warn', 'restart', 'quarantine'] as const;
const response = z.enum(['record', 'warn', 'quarantine']);
export type Response = (typeof responses)[number];

const code = z.string().regex(/^(xid|sxid|kernel)\/[\w-]+$/, { error: 'must be a code such as xid/79 or sxid/20034' });

/** `host:port`. */
const listen = (byDefault: string) =>
  z
    .string()
    .regex(/^[^\s:]*:\d{1,5}$/, { error: 'must be host:port, such as 127.0.0.1:9090' })
    .default(byDefault);

/** A regular expression that matches something: one that matches nothing at all would match everywhere. */
const pattern = z.string().refine((text) => isPattern(text), { error: 'must be a regular expression that does not match the empty text' });

function isPattern(text: string): boolean {
  try {
    return !new RegExp(text, 'u').test('');
  } catch {
    return false;
  }
}

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
          .describe('node/not-ready: the kubelet no longer answers; Kubernetes itself keeps new pods off the node until it is back'),
      })
      .prefault({})
      .describe('What each action of the catalogue leads to on the node'),
    codes: z.record(code, response).default({}).describe('The same for single codes; wins over `responses`'),
  })
  .prefault({});

const stop = z.enum(stopMethods).default('suspend');

/** Recoveries. */
const ledger = z.int().min(1).max(50);

const budget = z
  .strictObject({
    recoveries: ledger
      .default(5)
      .describe('Recoveries of one job in a sliding window: those that blame its own code, and apart from them those that blame nobody'),
    hardware: ledger.default(20).describe('The same for those that blame a GPU, a link or a switch; they use up nothing else'),
    platform: ledger.default(20).describe('The same for those that blame the cluster: nodes that are not ready, evictions, preemption'),
    user: ledger.optional().describe("For the job's own code, where it is not to be `recoveries`"),
    unknown: ledger.optional().describe('For those that blame nobody, where it is not to be `recoveries`'),
    crashLoop: ledger.default(3).describe("So many recoveries in a row that blame the job's own code, without a newer checkpoint, and a person is asked"),
    window: duration('1h'),
    backoff: z
      .strictObject({ first: duration('30s'), most: duration('10m') })
      .prefault({})
      .describe('Between two recoveries; doubles'),
  })
  .prefault({});

const health = z.strictObject({ listen: listen('0.0.0.0:9090') }).prefault({});
const log = z.strictObject({ level: z.enum(['debug', 'info', 'warn', 'error']).default('info') }).prefault({});
const temporal = z.strictObject({ taskQueue: z.string().min(1).max(200).default(defaultTaskQueue) }).prefault({});

/** `kcover worker --config FILE`. */
export const workerSettings = z.strictObject({
  mode: z.enum(['observe', 'act']).default('observe').describe("observe: decide and tell, change nothing; only an operator's command acts"),
  temporal,
  quarantine: z
    .strictObject({
      taint,
      cordon: z.boolean().default(false).describe('Also set spec.unschedulable'),
      limit: z
        .strictObject({ atLeast: z.int().min(0).default(2), percent: z.number().min(0).max(100).default(10) })
        .prefault({})
        .describe('Most nodes out at once: the larger of a number and a share of the nodes with accelerators'),
      quiet: duration('1h').describe('How long a node is remembered after faults that did not quarantine it'),
      askAgain: duration('5m').describe('How long a refused quarantine waits before it asks again by itself'),
    })
    .prefault({}),
  faults,
  recovery: z
    .strictObject({
      correlation: duration('500ms').describe('How long a pod failure waits for a fault of its node'),
      blind: duration('2m').describe('How long a pod failure waits for the agent of its node, when that is silent: the node may be bad, and nobody can say so'),
      attempts: z.int().min(1).max(10).default(3).describe('Stops in one incident before a person is asked'),
      budget,
      stop: z
        .strictObject(Object.fromEntries(jobKinds.map((kind) => [kind, stop])) as Record<JobKind, typeof stop>)
        .prefault({})
        .describe('Preferred way of stopping all pods of a kind; another is taken where this one is not possible'),
      deadNode: z
        .strictObject({
          force: z
            .boolean()
            .default(true)
            .describe('Whether pods that outlive their grace period on a node that stays not ready, or is gone, are deleted by force'),
          after: duration('30s').describe('How long a node must have been not ready without a break'),
          grace: duration('5m').describe('A longer grace period of a pod is not waited for on such a node'),
        })
        .prefault({})
        .describe('Pods that no kubelet ends any more'),
      evidence: z
        .strictObject({
          within: duration('20s', 60_000).describe('How long a stop may wait for the logs of its pods; 0s: nothing is kept'),
          directory: z.string().min(1).default('/var/lib/kcover/evidence').describe('Where they are kept'),
          keep: duration('168h').describe('How long'),
          redact: z.array(pattern).default([]).describe('Further regular expressions of what is blacked out in logs'),
        })
        .prefault({})
        .describe('What is kept of an attempt before it is stopped'),
      verify: z
        .strictObject({
          first: duration('15m').describe('Until the new attempt reports its first step'),
          stall: duration('10m').describe('Without a further step; a job that steps more slowly gets ten times its own pace'),
          most: duration('1h').describe('Until the last step before the fault is passed'),
        })
        .prefault({})
        .describe('Proof that training moves on, for jobs that report progress'),
      deadlines: z
        .strictObject({
          hold: duration('1h').describe('Held by a refused quarantine or a pause'),
          stop: duration('15m').describe('Old pods observed gone'),
          restart: duration('10m').describe('All new pods ready'),
          placement: duration('24h').describe('After that, while the scheduler finds no room'),
        })
        .prefault({}),
    })
    .prefault({}),
  preflight: z
    .strictObject({
      rule: z
        .enum(preflightRules)
        .default('statistical')
        .describe(
          'statistical: each node slow, healthy or undetermined, from all bandwidths of the run; strict: slow only what was in a failed pair of every round',
        ),
      threshold: z.number().min(0).default(5).describe('GiB/s below which a pair counts as failed, for reports that name none; 0: no such floor'),
      collection: duration('30m').describe('How long a run waits for the next report; also --preflight-report-collection-timeout'),
      deadline: duration('2h').describe('How long it waits altogether'),
      slow: response.default('quarantine').describe('What a slow node leads to'),
      failed: response.default('quarantine').describe('What a failed GPU or storage check leads to'),
    })
    .prefault({}),
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
    .strictObject({ silent: duration('1m').describe('An agent that was not heard for so long is silent: what its node could tell is not known') })
    .prefault({}),
  nodes: z
    .strictObject({
      notReady: duration('30s').describe('How long a node with accelerators must stay not ready before that is a fault'),
      blindAt: z
        .number()
        .min(1)
        .max(100)
        .default(20)
        .describe('When more than two of them, and more than this share (%), are not ready at once, it is our sight that is bad, and none of them is a fault'),
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
        .default('kcover-system/kcover-agent')
        .describe('The only ServiceAccount that may report'),
    })
    .prefault({}),
  preflight: z
    .strictObject({
      audience: z.string().min(1).default(roundsAudience).describe('Of the tokens of preflight pods'),
      rounds: z.enum(['adaptive', 'fixed']).default('adaptive').describe('adaptive: only as many rounds as are needed to tell every node'),
      most: z.int().min(1).max(preflightLimits.rounds).default(6).describe('Rounds of a run'),
      within: duration('5m').describe('How long a round waits for a rank before it goes on without it'),
    })
    .prefault({})
    .describe('Rounds that the controller plans for preflight containers that ask for them'),
  progress: z.strictObject({ every: duration('15s').describe('Least time between two writes of the progress annotations of one job') }).prefault({}),
  leaderElection: z
    .strictObject({
      enabled: z.boolean().default(true).describe('false: leads at once, without a Lease and without a label; for a single replica only'),
      namespace: z.string().min(1).default('kcover-system'),
      name: z.string().min(1).default('kcover'),
      lease: duration('15s').describe('How long the others wait after the last renewal'),
      renew: duration('10s').describe('How long the leader goes on without one'),
      retry: duration('2s').describe('Between two tries'),
    })
    .superRefine(({ lease, renew, retry }, found) => {
      const shorter = (key: string, ms: number, than: string, most: number) => {
        const message = `must be shorter than ${than}: ${formatDuration(ms)} is not below ${formatDuration(most)}`;
        if (ms >= most) found.addIssue({ code: 'custom', path: [key], message, params: { try: 'retry < renew < lease' } });
      };
      shorter('renew', renew, 'lease', lease);
      shorter('retry', retry, 'renew', renew);
    })
    .prefault({}),
  health,
  log,
});
export type ControllerSettings = z.infer<typeof controllerSettings>;

/** `kcover agent --config FILE`. */
export const agentSettings = z.strictObject({
  controller: z
    .strictObject({
      url: z.url({ protocol: /^https$/, error: 'must be an https address' }).default('https://kcover-intake.kcover-system.svc:8443'),
      caFile: z.string().min(1).default('/etc/kcover/tls/ca.crt'),
      tokenFile: z.string().min(1).default('/var/run/secrets/kcover/token').describe('Projected token; read anew for every request'),
    })
    .prefault({}),
  heartbeat: duration('10s'),
  preflight: z.strictObject({ every: duration('2s').describe('How often the agent looks for new reports of preflight containers') }).prefault({}),
  progress: z.strictObject({ every: duration('5s').describe('How often the agent looks for new progress files of trainers') }).prefault({}),
  kernelLog: z.strictObject({ path: z.string().startsWith('/').default('/dev/kmsg').describe('Below the host root') }).prefault({}),
  spool: z
    .strictObject({
      directory: z.string().min(1).default('/var/lib/kcover/agent'),
      maxBytes: z.int().min(65_536).default(16_777_216),
    })
    .prefault({}),
  health: z.strictObject({ listen: listen('0.0.0.0:9091') }).prefault({}),
  log,
});
export type AgentSettings = z.infer<typeof agentSettings>;

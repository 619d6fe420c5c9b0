/** Settings of the agent, with all defaults. */

import { z } from 'zod';
import { duration, listen, log } from './values.schema.ts';

/** `kcover agent --config FILE`. */
export const agentSettings = z.strictObject({
  controller: z
    .strictObject({
      url: z
        .url({ protocol: /^https$/, error: 'must be an https address' })
        .default('https://kcover-intake.kcover-system.svc:8443'),
      caFile: z.string().min(1).default('/etc/kcover/tls/ca.crt'),
      tokenFile: z
        .string()
        .min(1)
        .default('/var/run/secrets/kcover/token')
        .describe('Projected token; read again for every request'),
    })
    .prefault({}),
  heartbeat: duration('10s'),
  preflight: z
    .strictObject({
      every: duration('2s').describe('How often the agent looks for new reports of preflight containers'),
    })
    .prefault({}),
  progress: z
    .strictObject({ every: duration('5s').describe('How often the agent looks for new progress files of trainers') })
    .prefault({}),
  logs: z
    .strictObject({
      every: duration('1s').describe(
        'How often the agent reads the logs of containers that the controller asks for; see `progress.logs` of the controller',
      ),
    })
    .prefault({}),
  kernelLog: z
    .strictObject({
      path: z.string().startsWith('/').default('/dev/kmsg').describe('Below the host root'),
      userSpace: z
        .boolean()
        .default(false)
        .describe('true: records that were written from user space are judged too, for fault injection'),
    })
    .prefault({}),
  links: z
    .strictObject({
      devices: z
        .array(
          z.string().regex(/^[\w.*-]{1,64}$/, {
            error: 'must be the name of an RDMA device, such as mlx5_0, or a pattern such as mlx5_*',
          }),
        )
        .max(64)
        .default([])
        .describe(
          'RDMA devices to watch, by name or with `*` for any characters; other devices are never looked at; empty: none',
        ),
      every: duration('5s').describe(
        'How often the agent reads the state of their ports; a fall that is shorter may not be seen',
      ),
      down: duration('1m').describe('How long a port that was ACTIVE must not be ACTIVE before that is a fault'),
    })
    .prefault({}),
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

/** Settings of the agent, with all defaults. */

import { z } from 'zod';
import { duration, listen, log } from './values.schema.ts';

/** A program in the agent's own file system; empty: off. */
const program = (byDefault: string) =>
  z
    .string()
    .max(255)
    .regex(/^(?:\/[\w.+/-]*)?$/, { error: 'must be an absolute path, or empty' })
    .default(byDefault)
    .describe("Absolute path in the agent's container; off where there is no such file, or empty");

const deadline = duration('30s').describe(
  'How long one call may take; after that the check is unavailable, which is no fault',
);

const checks = {
  smi: z
    .strictObject({
      command: program('/usr/bin/nvidia-smi'),
      every: duration('1m').describe('How often it is called; a call that hangs is never started a second time'),
      deadline,
      gpus: z.int().min(0).max(64).default(0).describe('GPUs that each node should have; 0: not compared'),
    })
    .prefault({}),
  metax: z
    .strictObject({
      command: program('/usr/local/bin/mx-smi'),
      every: duration('10m').describe('How often the GPUs, their temperature and their memory errors are looked at'),
      deadline,
      gpus: z.int().min(0).max(64).default(0).describe('GPUs that each node should have; 0: not compared'),
      temperature: z.number().min(1).max(200).default(85).describe('Celsius; a hotspot at or above it is a fault'),
      eccErrors: z.int().min(0).default(64).describe('Double-bit ECC errors of one GPU; more of them are a fault'),
    })
    .prefault({}),
  disks: z
    .strictObject({
      mounts: z
        .array(
          z
            .string()
            .max(255)
            .regex(/^\/[^\0]*$/, { error: 'must be an absolute path' }),
        )
        .max(32)
        .default([])
        .describe('Mount points of the node that must be writable; none is looked at without its name'),
      devices: z
        .array(
          z.string().regex(/^[\w.*-]{1,64}$/, {
            error: 'must be the name of a disk, such as nvme0 or sda, or a pattern such as nvme*',
          }),
        )
        .max(64)
        .default([])
        .describe('Disks whose state is read, by name or with `*` for any characters; empty: none'),
      every: duration('30s').describe('How often they are looked at'),
    })
    .prefault({}),
  clock: z
    .strictObject({
      command: program('/usr/bin/chronyc'),
      every: duration('1m').describe('How often it is asked'),
      deadline,
      maxOffset: duration('10ms').describe('By how much the clock may differ from its source'),
    })
    .prefault({}),
  scripts: z
    .strictObject({
      directory: z
        .string()
        .max(255)
        .regex(/^(?:\/[\w.+/-]*)?$/, { error: 'must be an absolute path, or empty' })
        .default('')
        .describe("Directory in the agent's container; each executable file in it is a check; empty: none"),
      every: duration('1m').describe('How often each of them is run, one after the other'),
      deadline,
    })
    .prefault({}),
};

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
  ...checks,
  spool: z
    .strictObject({
      directory: z.string().min(1).default('/var/lib/kcover/agent'),
      maxBytes: z.int().min(65_536).default(16_777_216),
    })
    .prefault({}),
  statusFile: z
    .strictObject({
      directory: z
        .string()
        .max(255)
        .regex(/^(?:\/[\w.+/-]*)?$/, { error: 'must be an absolute path, or empty' })
        .default('')
        .describe(
          "Directory in the agent's container for the status file, which pods of the node read; empty: none is written",
        ),
    })
    .prefault({}),
  health: z.strictObject({ listen: listen('0.0.0.0:9091') }).prefault({}),
  log,
});
export type AgentSettings = z.infer<typeof agentSettings>;

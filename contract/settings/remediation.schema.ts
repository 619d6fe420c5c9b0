/** Settings of the repair of nodes, a part of the worker's. */

import { z } from 'zod';
import { proofs } from '../remedy/remedy.ts';
import { codePattern, duration, longestAgeMs } from './values.schema.ts';

const name = z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,28}[a-z0-9])?$/, {
  error: 'must be lower-case letters, digits and hyphens, at most 30 characters',
});
const file = z.string().min(1).max(500);
const url = z.url({ protocol: /^https?$/ }).max(2000);
const idempotent = z
  .boolean()
  .default(false)
  .describe('Whether it may be run again when it is not known whether it ran; else its result is then unknown');

const hook = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('job').describe('A Kubernetes Job from a mounted template, pinned to the node'),
    template: file.describe('File with a batch/v1 Job; kcover sets its name, its node and its tolerations'),
  }),
  z.strictObject({
    kind: z.literal('object').describe('An object from a mounted template, of which a condition is awaited'),
    template: file.describe('File with one object; kcover sets its name'),
    condition: z.string().min(1).max(200).describe('Type of the condition that ends it'),
    failed: z.string().min(1).max(200).optional().describe('Type of the condition that says that it failed'),
  }),
  z.strictObject({
    kind: z.literal('http').describe('A request to a server'),
    url: url.describe('Gets a POST with a JSON body and the header Idempotency-Key'),
    look: url.optional().describe('Answers GET, with {operation} replaced, with the state of an earlier request'),
    tokenFile: file.optional().describe('Mounted file with a bearer token'),
    poll: duration('10s').describe('How often an operation that goes on is looked at'),
    idempotent,
  }),
  z.strictObject({
    kind: z.literal('command').describe('A program in the container of the worker'),
    command: z.array(z.string().min(1).max(1000)).min(1).max(50),
    idempotent,
  }),
]);
export type Hook = z.infer<typeof hook>;

const rung = z.strictObject({
  hook: name,
  attempts: z.int().min(1).max(3).default(1),
  timeout: duration('30m').describe('Longest time of one attempt, its proof included'),
  proof: z.array(z.enum(proofs)).min(1).max(proofs.length).default(['result', 'ready']),
  verify: name.optional().describe('Hook that tests the node afterwards'),
});

const ladder = z.strictObject({
  name,
  codes: z.array(codePattern).min(1).max(100).describe('Fault codes for which this ladder is taken'),
  rungs: z.array(rung).min(1).max(8),
  release: z
    .enum(['person', 'verified'])
    .default('person')
    .describe('verified: kcover releases a node that was verified and is through its probation'),
});

/** `remediation` of the worker's settings. */
export const remediation = z
  .strictObject({
    mode: z.enum(['off', 'run']).default('off').describe('Whether quarantined nodes are repaired'),
    most: z.int().min(1).max(100).default(1).describe('Most nodes under repair at once'),
    hooks: z.record(name, hook).default({}),
    ladders: z.array(ladder).max(50).default([]).describe('The first that fits the faults of a node is taken'),
    namespace: z
      .string()
      .min(1)
      .max(63)
      .default('kcover-hooks')
      .describe('Where Jobs and namespaced objects of hooks are made'),
    probation: duration('1h').describe('How long a cured node is watched before it counts as returned'),
    drain: duration('0s').describe('How long other workloads may take to leave before the first rung; 0s: they stay'),
    memory: z
      .strictObject({
        window: duration('672h', longestAgeMs),
        incidents: z
          .int()
          .min(2)
          .max(100)
          .default(3)
          .describe('With so many incidents in the window a machine is retired'),
      })
      .prefault({}),
  })
  .prefault({})
  .refine(
    ({ hooks, ladders }) =>
      ladders.every(({ rungs }) => rungs.every(({ hook, verify }) => hook in hooks && (!verify || verify in hooks))),
    { error: 'names a hook that is not in remediation.hooks' },
  );

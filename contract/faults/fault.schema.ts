/** The schema of a fault that arrives from outside. Each border takes the fields and sources that it allows. */

import { z } from 'zod';
import { identifier, time } from '../plain-line.schema.ts';
import { nodePattern } from '../preflight/preflight.ts';
import { actions, type Fault, faultLimits, quarantineStates, standings } from './faults.ts';
import { faultSourceNames } from './sources.ts';

const most = faultLimits;

/** Text is truncated and cleaned on receipt, so that no fault is refused for a single character. */
const text = (length: number) => z.string().max(length);
const filled = (length: number) => text(length).min(1);

export const nodeName = filled(most.name).regex(nodePattern, 'is no name');

const suspect = z.strictObject({
  pod: filled(most.name),
  node: nodeName.exactOptional(),
  rank: z.int().exactOptional(),
  because: text(most.witness),
});

/** Every field of a fault. */
export const faultFields = {
  id: filled(most.id),
  source: z.enum(faultSourceNames),
  code: filled(most.code),
  message: text(most.message),
  seenAt: time,
  node: nodeName.exactOptional(),
  device: identifier(most.identifier).min(1).exactOptional(),
  action: z.enum(actions).exactOptional(),
  standing: z.enum(standings).exactOptional(),
  kernel: z.strictObject({ bootId: identifier(most.identifier).min(1), sequence: z.int().min(0) }).exactOptional(),
  kernelUs: z.int().min(0).exactOptional(),
  untrusted: z.literal(true).exactOptional(),
  pod: z.strictObject({ name: filled(most.name), uid: filled(most.identifier), createdAt: time }).exactOptional(),
  quarantine: z
    .strictObject({
      state: z.enum(quarantineStates),
      because: text(most.message),
      storm: filled(most.storm).exactOptional(),
    })
    .exactOptional(),
  job: filled(most.identifier).exactOptional(),
  namespace: filled(most.namespace).exactOptional(),
  unobservable: text(most.message).exactOptional(),
  deadline: time.exactOptional(),
  evidence: z.array(text(most.evidenceLine)).max(most.evidenceLines).exactOptional(),
  witnesses: z.array(text(most.witness)).max(most.witnesses).exactOptional(),
  suspects: z.array(suspect).max(most.suspects).exactOptional(),
} satisfies Record<keyof Fault, z.ZodType>;

/** A fault as one part of kcover gives it to another. */
export const faultSchema = z.strictObject(faultFields) satisfies z.ZodType<Fault>;

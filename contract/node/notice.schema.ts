/** Validation of what a controller tells an agent of its node, and the documented form of the status file. */

import { z } from 'zod';
import { nodeName } from '../faults/fault.schema.ts';
import { plainLine, time } from '../plain-line.schema.ts';
import type { NodeNotice, NodeStatusFile } from './notice.ts';
import { quarantinedPhases } from './nodes.ts';

const states = ['healthy', ...quarantinedPhases] as const;

const details = {
  since: time.describe("When kcover's quarantine began").exactOptional(),
  reason: z
    .string()
    .regex(/^[\w.-]{1,63}$/)
    .describe('Value of the taint: the code of the fault that convicts the node, such as xid-79, or operator')
    .exactOptional(),
  incident: z
    .string()
    .max(300)
    .regex(/^node\/[\w.-]+\/[\w.:-]+$/)
    .describe('Id of the quarantine, for questions to an operator')
    .exactOptional(),
};

/** Fields of a newer controller are left out. */
export const nodeNotice = z.object({ state: z.enum(states), ...details }) satisfies z.ZodType<NodeNotice>;

/** Later versions may add fields, which a reader ignores. */
export const nodeStatusFile = z
  .looseObject({
    schema: z.literal(1),
    node: nodeName,
    state: z
      .enum([...states, 'unknown'])
      .describe('healthy: not quarantined; unknown: no controller has answered for some time; else the phase'),
    because: plainLine(200).describe('What the state means, in one sentence'),
    ...details,
    writtenAt: time.describe('By the clock of the node; a file that is older than three minutes is stale'),
    lastAnswerAt: time.describe('When a controller last said what it thinks of the node').exactOptional(),
  })
  .describe('The status file of a node') satisfies z.ZodType<NodeStatusFile>;

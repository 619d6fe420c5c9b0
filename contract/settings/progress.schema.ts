/** Settings of what the controller makes of the progress of training. */

import { z } from 'zod';
import { logChoices, logLimits } from '../progress/logs.ts';
import { trainerStatusAudience } from '../progress/trainer-status.ts';
import { duration } from './values.schema.ts';

const logPattern = (group: 'step' | 'checkpoint') =>
  z
    .string()
    .min(1)
    .max(logLimits.pattern)
    .optional()
    .describe(
      `Pattern for the lines of logs of jobs that choose neither a format nor patterns, with the group \`(?<${group}>...)\`; it takes the place of what a known format says`,
    );

export const progressSettings = z
  .strictObject({
    audience: z
      .string()
      .min(1)
      .default(trainerStatusAudience)
      .describe('Audience of the tokens of training pods that report their own steps'),
    every: duration('15s').describe('Least time between two writes of the progress annotations of one job'),
    hang: z
      .strictObject({
        times: z
          .number()
          .min(1)
          .default(20)
          .describe('Training hangs when no step comes for so many times its median step'),
        least: duration('10m').describe('At least this long without a step'),
        witnesses: z
          .int()
          .min(1)
          .max(2)
          .default(2)
          .describe(
            'Of a job whose steps are read in its logs: 2: a watchdog must have written to a log too, otherwise the missing steps are only reported',
          ),
      })
      .prefault({}),
    slow: z
      .strictObject({
        times: z
          .number()
          .min(1.05)
          .default(1.3)
          .describe('Training is slow when its median step takes so many times that of its best pace in the attempt'),
        for: duration('10m').describe('In steps that took at least this long together'),
      })
      .prefault({})
      .describe('It is only reported'),
    logs: z
      .strictObject({
        format: z
          .enum(logChoices)
          .default('auto')
          .describe(
            'Format of the logs of jobs that write no progress file, where the job does not choose one; off: their logs are not read, unless the job chooses a format',
          ),
        step: logPattern('step'),
        checkpoint: logPattern('checkpoint'),
      })
      .prefault({}),
  })
  .prefault({});

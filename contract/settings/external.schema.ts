/** Settings of the controller for programs that report faults. */

import { z } from 'zod';
import { actions } from '../faults/faults.ts';
import { externalLimits } from '../wire/external.ts';
import { duration } from './values.schema.ts';

const externalCode = z
  .string()
  .regex(/^[\w.-]{1,48}$/, { error: 'must be a code of letters, digits, dots, underscores and dashes' });

/** A program that may report faults. */
const sender = z.strictObject({
  name: z
    .string()
    .max(externalLimits.sender)
    .regex(/^[\w.-]+$/, { error: 'must be a name of letters, digits, dots, underscores and dashes' }),
  tokenFile: z
    .string()
    .min(1)
    .describe('File with its bearer token, of 20 or more characters; read again when it changes'),
  codes: z
    .array(
      z
        .string()
        .regex(/^[\w.-]{0,48}\*?$/, { error: 'must be a code, or the begin of codes and a *' })
        .min(1),
    )
    .max(200)
    .default(['*'])
    .describe('Codes that it may report, without `external/`; a * at the end stands for any rest'),
  actions: z
    .array(z.enum(actions))
    .default([])
    .describe('Actions that it may ask for; any other is dropped, and the fault only warns'),
  actionOf: z
    .record(externalCode, z.enum(actions))
    .default({})
    .describe('Actions of single codes, whatever it asks for'),
  nodeLabel: z.string().min(1).max(200).default('node').describe('Label of an alert that names the node'),
  deviceLabel: z.string().min(1).max(200).optional().describe('Label of an alert that names the device'),
});
export type ExternalSender = z.infer<typeof sender>;

/** Faults that other programs report. */
export const external = z
  .strictObject({
    senders: z
      .array(sender)
      .max(50)
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, {
        error: 'two senders have the same name',
      })
      .default([])
      .describe('Without any, only agents may report'),
    fresh: duration('10m').describe(
      'A fault that began longer ago than this when it arrives is only counted and logged',
    ),
  })
  .prefault({})
  .describe('Faults that other programs report');

/** Settings of the judgement of faults: rules over time, and suppressions. */

import { z } from 'zod';
import { actions } from '../faults/action.ts';
import { effects } from '../node/history.ts';
import { codePattern, duration, longestAgeMs } from './values.schema.ts';

const rule = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, { error: 'must be lower-case letters, digits and dashes' })
    .describe('A built-in rule of the same name no longer applies'),
  kind: z
    .enum(['repeat', 'lasting'])
    .default('repeat')
    .describe('repeat: `count` bursts in `within`; lasting: it goes on for `within` without a pause longer than `gap`'),
  codes: z.array(codePattern).min(1).describe('The faults that it counts'),
  actions: z.array(z.enum(actions)).min(1).optional().describe('Only those for which the catalogue has these actions'),
  by: z
    .enum(['place', 'device', 'node'])
    .default('device')
    .describe('What they have in common; place: processor or link of a GPU, where the driver names it'),
  count: z.int().min(1).max(16).default(2),
  within: duration('24h', longestAgeMs),
  gap: duration('3m').describe('Faults this close to each other are one burst'),
  alone: z.boolean().default(false).describe('Only while the same happens at no other place, or on no other device'),
  effects: z.array(z.enum(effects)).default(['ask']).describe('All of them apply; an empty list switches the rule off'),
  because: z.string().min(1).max(200).describe('For people: what to do'),
});

const time = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-12-01T00:00:00Z' });
const names = (what: string) => z.array(z.string().min(1).max(317)).min(1).optional().describe(what);

const suppression = z
  .strictObject({
    codes: z.array(codePattern).min(1).optional().describe('All codes without it'),
    nodes: names('Names of nodes; all without it'),
    jobs: names('namespace/name; without it, all jobs and the nodes themselves'),
    from: time.optional().describe('At once without it'),
    until: time,
    reason: z.string().min(1).max(200),
    owner: z.string().min(1).max(100).describe('Who answers for it'),
  })
  .refine(({ codes, nodes, jobs }) => codes ?? nodes ?? jobs, { error: 'must name codes, nodes or jobs' })
  .refine(({ from, until }) => from === undefined || Date.parse(from) < Date.parse(until), {
    error: 'must end after it begins',
  });

export const judgement = {
  rules: z.array(rule).max(50).default([]).describe('Rules over time, in addition to the built-in ones'),
  suppressions: z
    .array(suppression)
    .max(100)
    .default([])
    .describe('Faults that are recorded and lead to nothing for a while; docs/judgement.md'),
  remember: duration('24h').describe(
    'How long the workflow of a node keeps running for a rule that counts its faults; the counts of a shorter time are lost with it',
  ),
} as const;

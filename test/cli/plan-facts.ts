/** Facts for plan tests: a watched job of four pods without faults, plus what a test adds. */

import { type HypotheticalFault, hypotheticalFault } from '../../cli/plan/hypothetical.ts';
import type { PlanInput } from '../../cli/plan/facts.ts';
import { job, jobView, nodeView, pods } from '../support/builders.ts';

export const at = '2026-11-21T07:09:13.000Z';

export const hypothetical = (code: string, more: Partial<Pick<HypotheticalFault, 'node' | 'pod'>> = {}) =>
  hypotheticalFault({ code, node: undefined, pod: undefined, job, pods, at, by: 'ada', ...more });

export const planFacts = (more: Partial<PlanInput> = {}): PlanInput => ({
  schema: 1,
  at,
  settings: { mode: 'act' },
  attempt: { job: jobView(), pods, nodes: [nodeView()], undecided: [] },
  known: { fresh: [], handled: [], usage: [] },
  capacity: { needed: 4, fit: 4, fitWithStandby: 4, standbyNodes: [], because: 'no other nodes' },
  unseen: [],
  ...more,
});

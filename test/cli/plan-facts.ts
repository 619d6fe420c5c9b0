/** Facts of a plan for tests: a watched job of four pods with nothing wrong, but for what the test names. */

import { type Imagining, imagine } from '../../cli/plan/imagined.ts';
import type { PlanFacts } from '../../cli/plan/facts.ts';
import { job, jobView, nodeView, pods } from '../support/builders.ts';

export const at = '2026-11-21T07:09:13.000Z';

export const imagined = (code: string, more: Partial<Pick<Imagining, 'node' | 'pod'>> = {}) =>
  imagine({ code, node: undefined, pod: undefined, job, pods, at, by: 'ada', ...more });

export const planFacts = (more: Partial<PlanFacts> = {}): PlanFacts => ({
  schema: 1,
  at,
  settings: { mode: 'act' },
  attempt: { job: jobView(), pods, nodes: [nodeView()], undecided: [] },
  known: { fresh: [], answered: [], spent: [] },
  capacity: { needed: 4, fit: 4, fitWithSpares: 4, spares: [], because: 'no other nodes' },
  unseen: [],
  ...more,
});

/** Plans of scenarios: random ones, the same for the same seed, or all of them. */

import { type ApiFault, apiFaults, type ApiFaultProfile } from '../../testbed/api-proxy.ts';
import { type SlowPath, slowPathNames, slowPathOf, isSlowPath } from './slow-paths.ts';
import { type TargetProcess, targetProcesses } from './processes.ts';
import { steps } from './fast-path-steps.ts';
import type { KillPlan } from './run-plan.ts';
import { orders } from './fast-path.ts';

/** The highest probability of each: slow faults (a hanging call is given up after 10 s) must be rarer than quick ones. */
const worst = {
  'cut before': 0.1,
  'cut after': 0.15,
  hang: 0.01,
  conflict: 0.15,
  'too many requests': 0.1,
  'server error': 0.1,
  'cut watch': 0.5,
} as const satisfies Record<ApiFault, number>;

/** Share of the random scenarios that use the slow path. */
const slowPathShare = 1 / 3;

export function planRuns(count: number, draw: () => number): KillPlan[] {
  const one = <T>(among: readonly T[]): T => among[Math.floor(draw() * among.length)] as T;
  // Some have no API faults: their violations are easier to read.
  const faultProfile = (): ApiFaultProfile => {
    if (draw() < 0.25) return {};
    const chosen = apiFaults.filter(() => draw() < 0.4);
    return Object.fromEntries(chosen.map((fault) => [fault, Number((worst[fault] * draw()).toFixed(3))]));
  };
  const pair = (among: readonly KillPlan['kills'][number]['step'][]): KillPlan['kills'] => {
    const first = one(targetProcesses);
    return [first, one(targetProcesses.filter((target) => target !== first))].map((target) => ({
      target,
      step: one(among),
      pauseMs: Math.round(draw() * 1000),
    }));
  };
  return Array.from({ length: count }, () => {
    const scenario = draw() < slowPathShare ? one(slowPathNames) : one(orders);
    const kills = pair(isSlowPath(scenario) ? slowPathOf(scenario).steps : steps);
    return { kills, scenario, faultProfile: faultProfile() };
  });
}

/** Kills each process once at each step of the fast path, alone, without faults of the API. */
export const planMatrix = (among: readonly TargetProcess[]): KillPlan[] =>
  among.flatMap((target) =>
    steps.map((step, index) => ({
      kills: [{ target, step, pauseMs: (index * 370) % 1000 }],
      scenario: orders[index % 2] ?? orders[0],
    })),
  );

/** Every step of the fast path once, each time with another process. */
export const planSmoke = (): KillPlan[] => {
  const alone = planMatrix(targetProcesses);
  return steps.flatMap(
    (step, index) =>
      alone.find(
        ({ kills: [kill] }) => kill?.step === step && kill.target === targetProcesses[index % targetProcesses.length],
      ) ?? [],
  );
};

/** Every step of the slow path once. The process that is killed during the final checkpoint on termination is one that does not relay its report. */
export const planSlowPathSmoke = (among: readonly TargetProcess[]): KillPlan[] =>
  slowPathNames.map((scenario, index) => slowPathPlan(scenario, among, index));

/** Kills each process once at each step of the slow path, without faults of the API: several in one scenario, because these take long, and never two at the same step. */
export const planSlowPathMatrix = (among: readonly TargetProcess[]): KillPlan[] =>
  slowPathNames.flatMap((scenario) => among.map((_, shift) => slowPathPlan(scenario, among, shift)));

const slowPathPlan = (scenario: SlowPath, among: readonly TargetProcess[], shift: number): KillPlan => ({
  scenario,
  kills: slowPathOf(scenario).own.map((step, index) => ({
    target: among[(index + shift) % among.length] ?? 'worker',
    step,
    pauseMs: (index * 370) % 1000,
  })),
});

/** Which stories are told: random ones, the same for the same seed, or all of them. */

import { type ApiFault, apiFaults, type ApiWeather } from '../../testbed/api-proxy.ts';
import { type Course, courseNames, courseOf, isCourse } from './courses.ts';
import { type Victim, victims } from './processes.ts';
import { steps } from './steps.ts';
import type { Plan } from './story.ts';
import { orders } from './sudden.ts';

/** The worst of each: what lasts (a call that hangs is given up after 10 s) must be rarer than what is over at once. */
const worst = {
  'cut before': 0.1,
  'cut after': 0.15,
  hang: 0.01,
  conflict: 0.15,
  'too many requests': 0.1,
  'server error': 0.1,
  'cut watch': 0.5,
} as const satisfies Record<ApiFault, number>;

/** So many of the random stories go through steps that wait. */
const careful = 1 / 3;

export function planStories(count: number, draw: () => number): Plan[] {
  const one = <T>(among: readonly T[]): T => among[Math.floor(draw() * among.length)] as T;
  // Some have good weather: their violations are easier to read.
  const weather = (): ApiWeather => {
    if (draw() < 0.25) return {};
    const chosen = apiFaults.filter(() => draw() < 0.4);
    return Object.fromEntries(chosen.map((fault) => [fault, Number((worst[fault] * draw()).toFixed(3))]));
  };
  const pair = (among: readonly Plan['kills'][number]['step'][]): Plan['kills'] => {
    const first = one(victims);
    return [first, one(victims.filter((victim) => victim !== first))].map((victim) => ({ victim, step: one(among), pauseMs: Math.round(draw() * 1000) }));
  };
  return Array.from({ length: count }, () => {
    const tale = draw() < careful ? one(courseNames) : one(orders);
    const kills = pair(isCourse(tale) ? courseOf(tale).steps : steps);
    return { kills, tale, weather: weather() };
  });
}

/** Each of them once at each step of a sudden end, alone, in good weather. */
export const planMatrix = (among: readonly Victim[]): Plan[] =>
  among.flatMap((victim) => steps.map((step, index) => ({ kills: [{ victim, step, pauseMs: (index * 370) % 1000 }], tale: orders[index % 2] ?? orders[0] })));

/** Every step of a sudden end once, each time with another process. */
export const planSmoke = (): Plan[] => {
  const alone = planMatrix(victims);
  return steps.flatMap((step, index) => alone.find(({ kills: [kill] }) => kill?.step === step && kill.victim === victims[index % victims.length]) ?? []);
};

/** Every careful step once. The process that dies at the dying gasp is one that the trainer's words do not pass. */
export const planCarefulSmoke = (among: readonly Victim[]): Plan[] => courseNames.map((tale, index) => carefulPlan(tale, among, index));

/** Each of them once at each careful step, in good weather: several in one story, for these take long, and never two at the same step of one. */
export const planCarefulMatrix = (among: readonly Victim[]): Plan[] => courseNames.flatMap((tale) => among.map((_, shift) => carefulPlan(tale, among, shift)));

const carefulPlan = (tale: Course, among: readonly Victim[], shift: number): Plan => ({
  tale,
  kills: courseOf(tale).own.map((step, index) => ({ victim: among[(index + shift) % among.length] ?? 'worker', step, pauseMs: (index * 370) % 1000 })),
});

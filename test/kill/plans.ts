/** Random stories, the same for the same seed. */

import { type ApiFault, apiFaults, type ApiWeather } from '../../testbed/api-proxy.ts';
import { type Victim, victims } from './processes.ts';
import { steps } from './steps.ts';
import { orders, type Plan } from './story.ts';

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

export function planStories(count: number, draw: () => number): Plan[] {
  const one = <T>(among: readonly T[]): T => among[Math.floor(draw() * among.length)] as T;
  // Some have good weather: their violations are easier to read.
  const weather = (): ApiWeather => {
    if (draw() < 0.25) return {};
    const chosen = apiFaults.filter(() => draw() < 0.4);
    return Object.fromEntries(chosen.map((fault) => [fault, Number((worst[fault] * draw()).toFixed(3))]));
  };
  return Array.from({ length: count }, () => {
    const first = one(victims);
    const pair = [first, one(victims.filter((victim) => victim !== first))];
    const kills = pair.map((victim) => ({ victim, step: one(steps), pauseMs: Math.round(draw() * 1000) }));
    return { kills, order: one(orders), weather: weather() };
  });
}

/** Each of them once at each step, alone, in good weather. */
export const planMatrix = (among: readonly Victim[]): Plan[] =>
  among.flatMap((victim) => steps.map((step, index) => ({ kills: [{ victim, step, pauseMs: (index * 370) % 1000 }], order: orders[index % 2] ?? orders[0] })));

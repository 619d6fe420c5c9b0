/** `npm run test:kill -- --times N --seed S`: kills processes at random steps of random stories, in a world of its own. */

import { Command } from 'commander';
import { formatDuration } from '../../contract/duration.ts';
import { startWorld, stopOnSignals } from '../../testbed/world.ts';
import { LiveKcover } from '../support/live-kcover.ts';
import { seeded } from './seeded.ts';
import { orders, type Plan, steps, takeTurns, tellStory, type Told, victims } from './story.ts';

const atOnce = 3;

const typed = new Command('test:kill')
  .description('Kills the worker, the controller or an agent at a random step of a recovery, many times, and judges each story from the audit log')
  .option('--times <number>', 'stories', '20')
  .option('--seed <number>', 'the same seed plans the same stories', String(Date.now() % 1_000_000))
  .parse()
  .opts<{ times: string; seed: string }>();
const [times, seed] = [whole('times', typed.times), whole('seed', typed.seed)];

console.log(`seed ${seed}, ${times} stories`);
const began = Date.now();
const world = await startWorld({ nodes: 12, onProgress: (line) => console.error(line) });
stopOnSignals(world);
let bad = 1;
try {
  const live = await LiveKcover.start(world);
  const all = await tellAll(live, planStories());
  await live.close();
  bad = summarise(all);
} finally {
  await world.stop();
}
process.exit(bad === 0 ? 0 : 1);

function planStories(): Plan[] {
  const draw = seeded(seed);
  const one = <T>(among: readonly T[]): T => among[Math.floor(draw() * among.length)] as T;
  return Array.from({ length: times }, () => ({ victim: one(victims), step: one(steps), order: one(orders), pauseMs: Math.round(draw() * 1000) }));
}

/** Several stories at a time, each killing in its turn, so that a kill also hits those that are under way. */
async function tellAll(live: LiveKcover, plans: readonly Plan[]): Promise<Told[]> {
  const turn = takeTurns();
  const left = [...plans.entries()];
  const all: Told[] = [];
  const lane = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const told = await tellStory(live, next[1], turn);
      all.push(told);
      console.log(lineOf(next[0] + 1, told));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return all;
}

function lineOf(number: number, { plan, job, incidents, stops, tookMs, violations }: Told): string {
  const end = violations.length === 0 ? 'ok' : violations.map((sentence) => `\n      VIOLATION ${sentence}`).join('');
  return `${String(number).padStart(4)}  ${plan.victim.padEnd(10)} at ${plan.step.padEnd(16)} ${plan.order.padEnd(26)} dead ${String(plan.pauseMs).padStart(4)} ms  ${job}  incidents ${incidents} stops ${stops}  ${formatDuration(tookMs).padStart(6)}  ${end}`;
}

function summarise(all: readonly Told[]): number {
  const wrong = all.filter(({ violations }) => violations.length > 0).length;
  const by = victims.map((victim) => `${victim} ${all.filter(({ plan }) => plan.victim === victim).length}`).join(', ');
  const twice = all.filter(({ stops }) => stops > 1).length;
  console.log(
    `\n${all.length} stories (${by}) in ${formatDuration(Date.now() - began)}, seed ${seed}: ${wrong} with violations, ${twice} with more than one stop`,
  );
  return wrong;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  console.error(
    `error[usage]: --${name} ${text} cannot be used\n  because: it must be a whole number above 0\n  try:     npm run test:kill -- --times 20 --seed 7`,
  );
  process.exit(2);
}

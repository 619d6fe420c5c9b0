/** Prometheus' own tool for rules and metrics, where the machine has or can fetch it. */

import { type Finished, run } from '../../testbed/parts/command.ts';
import { readEnvironment } from '../../testbed/parts/environment.ts';
import { promtoolProgram } from '../../testbed/parts/promtool.ts';

export type Promtool = (...args: readonly string[]) => Promise<Finished>;

/** Past jest, which adds a stack to each line of the console. */
const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Undefined, after one line that says so, where the tool cannot be had: it comes from the network, and not every machine has one. */
export async function obtainPromtool(): Promise<Promtool | undefined> {
  const environment = readEnvironment();
  try {
    const file = await promtoolProgram(environment, say);
    return (...args) => run({ file, args, env: environment.commands });
  } catch (error) {
    const [first, because] = String(error instanceof Error ? error.message : error).split('\n');
    say(`not checked by promtool: ${first};${because}`);
    return undefined;
  }
}

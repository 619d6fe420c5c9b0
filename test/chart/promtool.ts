/** Prometheus' own tool for rules and metrics, where the machine has or can fetch it. */

import { type Finished, run } from '../../testbed/parts/command.ts';
import { readEnvironment } from '../../testbed/parts/environment.ts';
import { promtoolProgram } from '../../testbed/parts/promtool.ts';

export type Promtool = (...args: readonly string[]) => Promise<Finished>;

/** Undefined, after one line that says so, where the tool cannot be had: it comes from the network, and not every machine has one. */
export async function obtainPromtool(): Promise<Promtool | undefined> {
  const environment = readEnvironment();
  try {
    const file = await promtoolProgram(environment, (line) => console.error(line));
    return (...args) => run({ file, args, env: environment.commands });
  } catch (error) {
    const [first, because] = String(error instanceof Error ? error.message : error).split('\n');
    console.error(`not checked by promtool: ${first};${because}`);
    return undefined;
  }
}

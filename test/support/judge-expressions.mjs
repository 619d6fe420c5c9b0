// Reads regular expressions as JSON and prints the time complexity of each. A separate process, because inside jest this takes ten times as long.
// Uses recheck's JavaScript back end, because the others are platform-specific programs.

import { createRequire } from 'node:module';
import { stdin, stdout } from 'node:process';
import { json } from 'node:stream/consumers';

const { checkSync } = createRequire(import.meta.url)('recheck/lib/browser.js');

/** The limits are numbers of iterations, not times, so that the result is the same on every machine. The fuzzing of expressions that cannot be proven is kept short. */
const limits = {
  timeout: null,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
  maxIteration: 3,
  maxInitialGenerationSize: 100,
  maxGenerationSize: 30,
  crossoverSize: 8,
  mutationSize: 16,
};

stdout.write(
  JSON.stringify(
    (await json(stdin)).map(({ source, flags }) => {
      const { status, complexity } = checkSync(source, flags, limits);
      return { status, complexity: complexity?.type };
    }),
  ),
);

// Reads regular expressions as JSON and answers what time each takes. A process of its own, because inside jest this takes ten times as long.
// recheck's other back ends are programs of the platform, which would not be the same everywhere.

import { createRequire } from 'node:module';
import { stdin, stdout } from 'node:process';
import { json } from 'node:stream/consumers';

const { checkSync } = createRequire(import.meta.url)('recheck/lib/browser.js');

/** No limit is a time: the same everywhere, however busy the machine is. The search where nothing can be proven is a short one. */
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

// Reads regular expressions as JSON and prints the time complexity of each. A separate process, because inside jest this takes ten times as long.
// Uses recheck's JavaScript back end, because the others are platform-specific programs. Its answers are the same every time, so they are kept beside
// the programs of the testbed, for this version and these limits.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { stdin, stdout } from 'node:process';
import { json } from 'node:stream/consumers';

const require = createRequire(import.meta.url);
const { checkSync } = require('recheck/lib/browser.js');

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

const { version } = require('recheck/package.json');
const digest = createHash('sha256').update(JSON.stringify(limits)).digest('hex').slice(0, 12);
const directory = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'kcover-testbed');
const file = join(directory, `expressions-recheck-${version}-${digest}.json`);

function kept() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

function keep(answers) {
  mkdirSync(directory, { recursive: true });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(answers));
  renameSync(draft, file);
}

const answers = new Map(Object.entries(kept()));
const known = answers.size;
const judged = (await json(stdin)).map(({ source, flags }) => {
  const key = `/${source}/${flags}`;
  if (!answers.has(key)) {
    const { status, complexity } = checkSync(source, flags, limits);
    answers.set(key, { status, complexity: complexity?.type });
  }
  return answers.get(key);
});
if (answers.size > known) keep(Object.fromEntries(answers));
stdout.write(JSON.stringify(judged));

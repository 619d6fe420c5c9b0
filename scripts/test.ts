/** `npm test`: every tier, the servers started once, and one plain closing line. Arguments go to jest (`npm test -- test/e2e`). */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The part of jest's report that is counted. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numRuntimeErrorTestSuites: number;
}

interface Count {
  readonly passed: number;
  readonly failed: number;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'kcover-test-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));

const counts = [await run('offline'), await run('servers')];
const passed = counts.reduce((sum, count) => sum + count.passed, 0);
const failed = counts.reduce((sum, count) => sum + count.failed, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function run(tier: 'offline' | 'servers'): Promise<Count> {
  const file = join(scratch, `${tier}.json`);
  const node = ['--disable-warning=ExperimentalWarning', '--experimental-vm-modules', join(root, 'node_modules/jest/bin/jest.js')];
  const jest = [
    '--config',
    join(root, `test/jest.${tier}.json`),
    '--passWithNoTests',
    '--reporters',
    join(root, 'scripts/test-reporter.mjs'),
    '--json',
    '--outputFile',
    file,
    ...process.argv.slice(2),
  ];
  const code = await ended([...node, ...jest]);
  const report = read(file);
  // A file that could not run, or a run that died, counts as a failure even when no single test did.
  const failures = (report?.numFailedTests ?? 0) + (report?.numRuntimeErrorTestSuites ?? 0);
  return { passed: report?.numPassedTests ?? 0, failed: code === 0 ? failures : Math.max(1, failures) };
}

/** Runs it to its end. A signal goes on to it, so that its servers end with it, and then ends us. */
function ended(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  let stopped = false;
  const stop = (signal: NodeJS.Signals): void => {
    stopped = true;
    child.kill(signal);
  };
  for (const signal of signals) process.on(signal, stop);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      for (const signal of signals) process.off(signal, stop);
      if (stopped) process.exit(130);
      resolve(code ?? 1);
    });
  });
}

function read(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report;
  } catch {
    return undefined;
  }
}

/**
 * `npm test`: four tiers, three at a time, and one closing line. Arguments go to jest (`npm test -- test/e2e`).
 * The tiers are the files `test/jest.*.json`: `e2e` (all of kcover, end to end) and `cluster` (parts of it) have one set of servers
 * each, `isolated` has Temporal alone or a cluster for each file, `offline` starts nothing. More are commands of their own: `npm run test:long`
 * (outages, restarts of every role, many jobs), `npm run test:nodes`, which needs root (`kernel` and `nodes`, side by side), `npm run test:kinds`, which builds further controllers of jobs,
 * `npm run test:kueue`, which builds Kueue, and `npm run test:loki`, which builds Loki.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The fields of jest's report that are used. */
interface JestReport {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
  }[];
}

interface Result {
  readonly passed: number;
  readonly failed: number;
  /** Jest's message for each failed file. */
  readonly failures: readonly string[];
}

/** Time that jest has to end after its report, which it writes once its servers are gone, ms. */
const endingMs = 30_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'kcover-test-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));

if (process.argv[2] === '--real-nodes' && process.getuid?.() !== 0) {
  console.error(
    'nothing was run: real nodes need mounts, namespaces and cgroups, and so root; run the same command as root',
  );
  process.exit(1);
}

type Tier = 'e2e' | 'cluster' | 'offline' | 'isolated' | 'long' | 'kernel' | 'nodes' | 'kinds' | 'kueue' | 'loki';
const alone: Readonly<Record<string, readonly Tier[]>> = {
  '--long': ['long'],
  // One kernel log serves the whole machine, so those that read it run one after the other.
  '--real-nodes': ['kernel', 'nodes'],
  '--job-kinds': ['kinds'],
  '--kueue': ['kueue'],
  '--loki': ['loki'],
};
const only = alone[process.argv[2] ?? ''];
/** In the order in which they begin: three at a time, because tests wait more than they compute. */
const tiers: Tier[] = only ? [...only] : ['isolated', 'cluster', 'e2e', 'offline'];

const running = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(signal));
let stopped = false;

const results = (await Promise.all([runNext(), runNext(), runNext()])).flat();
if (stopped) process.exit(130);
const passed = results.reduce((sum, result) => sum + result.passed, 0);
const failed = results.reduce((sum, result) => sum + result.failed, 0);
// Repeated at the end, because a failure in one tier is far above the later output of the others.
for (const failure of results.flatMap(({ failures }) => failures)) console.error(failure);
if (passed + failed === 0)
  console.error(
    'no test was run: no file of these tiers matches; test/long, loki, nodes, kinds and kueue have commands of their own',
  );
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

async function runNext(): Promise<Result[]> {
  const results: Result[] = [];
  for (let tier = tiers.shift(); tier && !stopped; tier = tiers.shift()) results.push(await run(tier));
  return results;
}

async function run(tier: Tier): Promise<Result> {
  const file = join(scratch, `${tier}.json`);
  const node = [
    '--disable-warning=ExperimentalWarning',
    '--experimental-vm-modules',
    join(root, 'node_modules/jest/bin/jest.js'),
  ];
  const jest = [
    '--config',
    join(root, `test/jest.${tier}.json`),
    '--passWithNoTests',
    '--reporters',
    join(root, 'scripts/test-reporter.mjs'),
    '--json',
    '--outputFile',
    file,
    ...process.argv.slice(only ? 3 : 2),
  ];
  const ending = await ended([...node, ...jest], file);
  const report = read(file);
  const code = ending === 'killed' ? (report?.success ? 0 : 1) : ending;
  // A file that could not run, or a run that crashed, counts as a failure even when no single test failed.
  const failed = (report?.numFailedTests ?? 0) + (report?.numRuntimeErrorTestSuites ?? 0);
  const files = report?.testResults.filter(({ status }) => status === 'failed') ?? [];
  const failures = files.map(({ name, message }) => `[${tier}] FAILED: ${relative(root, name)}\n${message}`);
  if (code !== 0 && failures.length === 0)
    failures.push(`[${tier}] FAILED: jest ended with exit code ${code}, and names no test`);
  return { passed: report?.numPassedTests ?? 0, failed: code === 0 ? failed : Math.max(1, failed), failures };
}

/** Forwards a signal, so that every tier ends its servers before this process ends. */
function stop(signal: NodeJS.Signals): void {
  stopped = true;
  for (const child of running) child.kill(signal);
}

/** `killed`: jest has written its report and does not end, because a test left something open. */
function ended(args: readonly string[], report: string): Promise<number | 'killed'> {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  running.add(child);
  let isKilled = false;
  const look = setInterval(() => {
    if (isKilled || !existsSync(report) || Date.now() - statSync(report).mtimeMs < endingMs) return;
    isKilled = true;
    console.error(`jest was killed ${endingMs / 1000} s after its report, because a test has left something open`);
    child.kill('SIGKILL');
  }, 1000);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      clearInterval(look);
      running.delete(child);
      resolve(isKilled ? 'killed' : (code ?? 1));
    });
  });
}

function read(file: string): JestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JestReport;
  } catch {
    return undefined;
  }
}

/**
 * `npm run test:kill -- --times N --seed S`: kills pairs of processes at random steps of random scenarios, in a test cluster of its own and under
 * faults of the API. `npm run test:kill -- --healthy N`: kills nothing, and injects N faults of the API around a healthy job.
 */

import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { formatDuration } from '../../contract/settings/duration.ts';
import { type ApiProxy, openApiProxy } from '../../testbed/api-proxy.ts';
import { Ports } from '../../testbed/servers/ports.ts';
import { startTestCluster, stopOnSignals, type TestCluster } from '../../testbed/test-cluster.ts';
import { LiveKcover, shortLease } from '../support/live-kcover.ts';
import { shortReports } from '../../testbed/trainer.ts';
import { askingWorker } from './slow-paths.ts';
import { planSlowPathMatrix, planMatrix, planRuns } from './plans.ts';
import { openPools, poolOf } from './pools.ts';
import { createPriority } from './priority.ts';
import { type KillStage, targetProcesses } from './processes.ts';
import { seeded } from './seeded.ts';
import { busyControllers, injectApiFaults } from './storm.ts';
import { type Kill, type KillPlan, runPlan, type KillResult } from './run-plan.ts';
import { takeTurns } from './turns.ts';

type ProxiedStage = KillStage & { readonly proxy: ApiProxy };

const atOnce = 3;
/** The last few of all nodes are a pool: one slow-path scenario at a time. */
const pooled = 3;

const typed = new Command('test:kill')
  .description(
    'Kills two processes (of kcover, Temporal, the API server, etcd) at random steps of a recovery while the API answers badly, many times, and checks each scenario from the audit log',
  )
  .option('--times <number>', 'scenarios', '20')
  .option('--seed <number>', 'the same seed plans the same scenarios', String(Date.now() % 1_000_000))
  .option('--matrix', 'every process once at every step instead of random pairs')
  .option('--healthy <number>', 'no scenarios, but this many faults of the API around a healthy job')
  .option('--json', 'one JSON document per scenario, and one for the summary')
  .option('--logs <directory>', 'where logs, records and the data of Temporal are kept')
  .parse()
  .opts<{ times: string; seed: string; matrix?: true; healthy?: string; json?: true; logs?: string }>();
const [times, seed] = [whole('times', typed.times), whole('seed', typed.seed)];
const print = (text: string, document: object): void => console.log(typed.json ? JSON.stringify(document) : text);

const faults = typed.healthy === undefined ? undefined : whole('healthy', typed.healthy);
if (faults === undefined) print(`seed ${seed}, ${times} scenarios`, { seed, times });
else print(`seed ${seed}, ${faults} faults of the API`, { seed, faults });
const began = Date.now();
const cluster = await startTestCluster({
  nodes: 12,
  patientWithNodes: true,
  onProgress: (line) => console.error(line),
  keepDirectory: typed.logs !== undefined,
});
stopOnSignals(cluster);
let bad = 1;
try {
  const stage = await setStage(cluster);
  bad =
    faults === undefined
      ? summarise(
          stage,
          await runAll(
            stage,
            typed.matrix
              ? [...planMatrix(targetProcesses), ...planSlowPathMatrix(targetProcesses)]
              : planRuns(times, seeded(seed)),
          ),
        )
      : await leaveAlone(stage, faults);
  await stage.live.close();
} finally {
  await cluster.stop();
  if (typed.logs !== undefined) keep(cluster.directory, typed.logs);
}
process.exit(bad === 0 ? 0 : 1);

async function setStage({ directory, kubernetes, servers, api, nodes }: TestCluster): Promise<ProxiedStage> {
  const home = join(directory, 'api-proxy');
  mkdirSync(home);
  const to = { server: kubernetes.server, authority: kubernetes.authority };
  const proxy = await openApiProxy({
    to,
    port: await new Ports(directory).take(),
    directory: home,
    draw: seeded(seed + 1),
  });
  const settings =
    faults === undefined ? { workerSettings: askingWorker, agentSettings: shortReports.agentSettings } : {};
  const controllerSettings =
    faults === undefined ? { ...shortReports.controllerSettings, ...shortLease } : busyControllers;
  await createPriority(api);
  const pools = await openPools(api, [nodes.slice(-pooled)]);
  const common = await poolOf(api, 'common', nodes.slice(0, -pooled));
  const live = await LiveKcover.start(cluster, {
    agents: 'processes',
    through: proxy,
    ...settings,
    controllerSettings,
  });
  return { live, servers, startedAlong: [servers.kwok], proxy, pools, common, absences: [] };
}

/** Injects faults around a job that needs no recovery; returns how much was done to it. */
async function leaveAlone({ live, proxy }: ProxiedStage, times: number): Promise<number> {
  const job = await live.pytorch();
  let shown = 0;
  const wrong = await injectApiFaults(live, proxy, job, times, (injected) => {
    if (injected - shown < 1000) return;
    shown = injected;
    console.error(`${injected} faults`);
  });
  const took = Date.now() - began;
  print(
    `${wrong.length === 0 ? 'nothing was done to the job' : wrong.map((sentence) => `VIOLATION ${sentence}`).join('\n')}\nin ${formatDuration(took)}, injected: ${listed(proxy.injected)}`,
    { seed, tookMs: took, violations: wrong, injected: proxy.injected },
  );
  return wrong.length;
}

/** Several scenarios at a time, each killing in its turn, so that a kill also hits the others. */
async function runAll(stage: KillStage, plans: readonly KillPlan[]): Promise<KillResult[]> {
  const turn = takeTurns();
  const left = [...plans.entries()];
  const all: KillResult[] = [];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const result = await runPlan(stage, next[1], turn);
      all.push(result);
      print(lineOf(next[0] + 1, result), { run: next[0] + 1, ...result });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return all;
}

function lineOf(number: number, { plan, job, incidents, stops, tookMs, deaths, violations }: KillResult): string {
  const seen = ({ target, step }: Kill): string =>
    deaths.find((death) => death.target === target && death.step === step)?.seen ?? 'not killed at';
  const kills = plan.kills
    .map((kill) => `${kill.target} ${seen(kill)} ${kill.step} for ${kill.pauseMs} ms`)
    .join(' + ');
  const faultProfile = Object.entries(plan.faultProfile ?? {}).map(([fault, rate]) => `${fault} ${rate}`);
  const end = violations.length === 0 ? 'ok' : violations.map((sentence) => `\n      VIOLATION ${sentence}`).join('');
  return `${String(number).padStart(4)}  ${kills}; ${plan.scenario}; API: ${faultProfile.join(', ') || 'good'}; ${job}: incidents ${incidents}, stops ${stops}, ${formatDuration(tookMs)}  ${end}`;
}

function summarise({ proxy }: ProxiedStage, all: readonly KillResult[]): number {
  const wrong = all.filter(({ violations }) => violations.length > 0).length;
  const twice = all.filter(({ stops }) => stops > 1).length;
  const killed = Object.fromEntries(
    targetProcesses.map((target) => [
      target,
      all.flatMap(({ plan }) => plan.kills).filter((kill) => kill.target === target).length,
    ]),
  );
  const took = Date.now() - began;
  print(
    [
      `\n${all.length} scenarios in ${formatDuration(took)}, seed ${seed}: ${wrong} with violations, ${twice} with more than one stop`,
      `killed:   ${listed(killed)}`,
      `injected: ${listed(proxy.injected)}`,
    ].join('\n'),
    {
      seed,
      runs: all.length,
      tookMs: took,
      withViolations: wrong,
      withMoreStops: twice,
      killed,
      injected: proxy.injected,
    },
  );
  return wrong;
}

function listed(counts: object): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

/** The next test cluster removes the directory of one whose process has ended, so it is copied. */
function keep(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  const names = [...readdirSync(from).filter((name) => name.startsWith('temporal.sqlite')), 'logs', 'kcover'];
  for (const name of names) cpSync(join(from, name), join(to, name), { recursive: true });
  rmSync(from, { recursive: true, force: true });
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  console.error(
    `error[usage]: --${name} ${text} cannot be used\n  because: it must be a whole number above 0\n  try:     npm run test:kill -- --times 20 --seed 7`,
  );
  process.exit(2);
}

import { Command, Option } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration } from '../contract/settings/duration.ts';
import { podDeleteCollections, podDeletes, readWrites, suspends } from './audit.ts';
import { workflowPage } from './demo-fixture.ts';
import { stories, type DemoScenarioName } from './stories.ts';
import type { StoryResult } from './story.ts';

const options = new Command('demo')
  .description(
    'A GPU falls off the bus in the middle of training; kcover quarantines its node and restarts the job elsewhere',
  )
  .addOption(
    new Option(
      '--story <story>',
      'slow-node: a preflight of 16 nodes finds a slow one, and the job starts without it; checkpoint: a GPU begins to fail, and the next checkpoint is awaited; shrink: no node is left, and the job goes on with one pod less; silent-job: a job that reports no progress hangs, and its logs show it; node-life: the broken node is repaired by hooks, tested, and returns; storm: twelve nodes of one rack break with one cause; real-trainer: see --real',
    )
      .choices(Object.keys(stories))
      .default('broken-gpu' satisfies DemoScenarioName),
  )
  .addOption(
    new Option(
      '--real',
      'a PyTorch job in real containers on 3 real nodes saves when it receives SIGTERM, and goes on from there (needs root)',
    ).implies({
      story: 'real-trainer' satisfies DemoScenarioName,
    }),
  )
  .option('--once', 'end after the demo instead of staying up until Ctrl-C')
  .option('--output <form>', 'text or json', 'text')
  .option(
    '--nodes <number>',
    'GPU nodes, simulated or, with --real, real (default: 8, slow-node 18, shrink 4, storm 24, real-trainer 3)',
  )
  .parse()
  .opts<{ story: DemoScenarioName; once?: true; output: string; nodes?: string }>();

if (options.story === 'real-trainer' && process.getuid?.() !== 0) {
  console.error(
    'nothing was run: real nodes need mounts, namespaces and cgroups, and so root; run the same command as root',
  );
  process.exit(1);
}

const asJson = options.output === 'json';
const print = (line: string): void => (asJson ? console.error(line) : console.log(line));

const story = stories[options.story];
const fixture = await story.set({ nodes: Number(options.nodes ?? story.nodes), mode: 'act', print });
const { cluster, kcover } = fixture;
let exitCode = 0;
try {
  const result = await story.run(fixture, print);
  const writes = (await readWrites(cluster.kubernetes.auditLog, result.since)).filter(({ user }) =>
    user.startsWith('system:serviceaccount:kcover-system:kcover-'),
  );
  const collections = podDeleteCollections(writes).length;
  const counted = {
    stops: suspends(writes).filter(({ suspend }) => suspend).length + collections,
    deleteCollections: collections,
    podDeletes: podDeletes(writes).length,
  };
  if (asJson) console.log(JSON.stringify({ ...result.seen, ...result.facts, ...counted }, null, 2));
  else conclude(result, counted.stops);
  exitCode = result.ok ? 0 : 1;
  if (!asJson && options.once !== true && process.stdout.isTTY) {
    print(`\nEverything stays up until Ctrl-C. Look at ${cluster.temporal.uiUrl}, or in another terminal:\n`);
    print(`  export KUBECONFIG=${cluster.kubernetes.kubeconfig} TEMPORAL_ADDRESS=${cluster.temporal.address}`);
    for (const command of ['npx kcover status pytorchjob/llm -n train', 'npx kcover node list', ...result.commands])
      print(`  ${command}`);
    for (;;) await sleep(60_000);
  }
} finally {
  await kcover.stop();
  await cluster.stop();
}
process.exit(exitCode);

function conclude({ seen, lines }: StoryResult, stops: number): void {
  print(`\n${seen.outcome}: ${seen.because}`);
  for (const [word, said] of lines) print(`  ${word.padEnd(11)} ${said}`);
  print(
    `  pods        ${Object.keys(seen.attemptBefore).length} stopped together with ${stops} request, ${Object.keys(seen.attemptAfter).length} running again`,
  );
  for (const name of Object.keys({ ...seen.attemptBefore, ...seen.attemptAfter }))
    print(
      `              ${name.padEnd(14)} ${seen.attemptBefore[name]?.node ?? '-'} -> ${seen.attemptAfter[name]?.node ?? '-'}`,
    );
  if (seen.reportToQuarantinedMs !== undefined && seen.quarantinedToRunningMs !== undefined)
    print(
      `  quarantine  ${formatDuration(seen.reportToQuarantinedMs)} after the report; running again ${formatDuration(seen.quarantinedToRunningMs)} later`,
    );
  print(`  incident    ${seen.incident}`);
  print(`  look at it  ${workflowPage(cluster, seen.incident)}`);
}

import { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration } from '../contract/duration.ts';
import { podDeleteCollections, podDeletes, readWrites, suspends } from './audit.ts';
import { breakGpu, failContainer } from './failures.ts';
import { type IncidentSeen, watchIncident } from './incident.ts';
import { podsOf } from './jobs.ts';
import { setScene, workflowPage } from './scene.ts';

const options = new Command('demo')
  .description('A GPU falls off the bus in the middle of training; kcover quarantines its node and restarts the job elsewhere')
  .option('--once', 'end after the story instead of staying up until Ctrl-C')
  .option('--output <form>', 'text or json', 'text')
  .option('--nodes <number>', 'simulated GPU nodes', '8')
  .parse()
  .opts<{ once?: true; output: string; nodes: string }>();

const asJson = options.output === 'json';
const say = (line: string): void => (asJson ? console.error(line) : console.log(line));
const line = 'NVRM: Xid (PCI:0000:5d:00): 79, pid=4242, name=python, GPU has fallen off the bus.';

const { world, kcover, job } = await setScene({ nodes: Number(options.nodes), mode: 'act', tell: say });
let exitCode = 0;
try {
  const before = await podsOf(world.api, job);
  say(`\nPyTorchJob train/llm runs on ${before.map((pod) => pod.spec?.nodeName).join(', ')}\n`);
  const victim = before.at(-1);
  const node = world.nodes.find((one) => one.name === victim?.spec?.nodeName);
  if (victim === undefined || node === undefined) throw new Error('the job has no pod on a node');

  const incident = await watchIncident(world, kcover, job, before, say);
  const broken = new Date();
  incident.happened(`kernel of ${node.name}: ${line}`);
  await breakGpu(node, line);
  await failContainer(world.api, victim, { exitCode: 1 });
  incident.happened(`pod ${victim.metadata?.name} on ${node.name} failed with exit code 1`);

  const seen = await incident.ended();
  const writes = (await readWrites(world.kubernetes.auditLog, broken)).filter(({ user }) => user.startsWith('system:serviceaccount:kcover-system:kcover-'));
  const collections = podDeleteCollections(writes).length;
  const counted = {
    stops: suspends(writes).filter(({ suspend }) => suspend).length + collections,
    deleteCollections: collections,
    podDeletes: podDeletes(writes).length,
  };
  if (asJson) console.log(JSON.stringify({ ...seen, node: node.name, ...counted }, null, 2));
  else conclude(seen, counted.stops);
  exitCode = seen.outcome === 'restarted' || seen.outcome === 'recovered' ? 0 : 1;
  if (!asJson && options.once !== true && process.stdout.isTTY) {
    say(`\nEverything stays up until Ctrl-C. Look at ${world.temporal.uiUrl}, or in another terminal:\n`);
    say(`  export KUBECONFIG=${world.kubernetes.kubeconfig} TEMPORAL_ADDRESS=${world.temporal.address}`);
    say('  npx kcover status pytorchjob/llm -n train\n  npx kcover node list\n  npx kcover recover pytorchjob/llm -n train --reason "to see it again"');
    for (;;) await sleep(60_000);
  }
} finally {
  await kcover.stop();
  await world.stop();
}
process.exit(exitCode);

function conclude(seen: IncidentSeen, stops: number): void {
  say(`\n${seen.outcome}: ${seen.because}`);
  say(`  pods        ${Object.keys(seen.attemptBefore).length} stopped together with ${stops} request, ${Object.keys(seen.attemptAfter).length} running again`);
  for (const [name, after] of Object.entries(seen.attemptAfter))
    say(`              ${name.padEnd(14)} ${seen.attemptBefore[name]?.node ?? '-'} -> ${after.node}`);
  say(`  quarantine  ${formatDuration(seen.reportToQuarantinedMs)} after the report; running again ${formatDuration(seen.quarantinedToRunningMs)} later`);
  say(`  incident    ${seen.incident}`);
  say(`  look at it  ${workflowPage(world, seen.incident)}`);
}

import { Command } from 'commander';
import { join } from 'node:path';
import { podsOf } from './jobs.ts';
import { kernelLog } from './nodes.ts';
import { setScene } from './scene.ts';

const { nodes } = new Command('testbed')
  .description('A real Temporal, a real Kubernetes control plane, simulated GPU nodes, kcover and a training job, until Ctrl-C')
  .option('--nodes <number>', 'simulated GPU nodes', '8')
  .parse()
  .opts<{ nodes: string }>();

const count = Number(nodes);
if (!Number.isInteger(count) || count < 4 || count > 200) {
  console.error(`error[usage]: --nodes ${nodes} cannot be used\n  because: it must be a whole number from 4 to 200\n  try:     --nodes 16`);
  process.exit(2);
}

const { world, kcover, job } = await setScene({ nodes: count, mode: 'act', tell: (line) => console.error(line) });
const [pod] = await podsOf(world.api, job);
const node = world.nodes.find(({ name }) => name === pod?.spec?.nodeName);
console.log(`
kubeconfig   ${world.kubernetes.kubeconfig}
temporal     ${world.temporal.address}
ui           ${world.temporal.uiUrl}
directory    ${world.directory}
records      ${kcover.records}

In another terminal:
  export KUBECONFIG=${world.kubernetes.kubeconfig} TEMPORAL_ADDRESS=${world.temporal.address}
  npx kcover status pytorchjob/llm -n train

To break ${node?.name}, where ${pod?.metadata?.name} runs:
  echo 'NVRM: Xid (PCI:0000:5d:00): 79, pid=4242, name=python, GPU has fallen off the bus.' >> ${join(node?.hostRoot ?? '', kernelLog)}

Ctrl-C ends it and leaves nothing behind.`);
setInterval(() => undefined, 60_000);

import { Command } from 'commander';
import { join } from 'node:path';
import { podsOf } from './jobs.ts';
import { kernelLog } from './nodes.ts';
import { setScene } from './scene.ts';

const { nodes, real } = new Command('testbed')
  .description('A real Temporal, a real Kubernetes control plane, simulated GPU nodes, kcover and a training job, until Ctrl-C')
  .option('--nodes <number>', 'simulated GPU nodes', '8')
  .option('--real <number>', 'nodes with real kubelets and containers beside them (needs root)', '0')
  .parse()
  .opts<{ nodes: string; real: string }>();

const count = Number(nodes);
if (!Number.isInteger(count) || count < 4 || count > 200) {
  console.error(`error[usage]: --nodes ${nodes} cannot be used\n  because: it must be a whole number from 4 to 200\n  try:     --nodes 16`);
  process.exit(2);
}

const realNodes = Number(real);
if (!Number.isInteger(realNodes) || realNodes < 0 || realNodes > 20) {
  console.error(`error[usage]: --real ${real} cannot be used\n  because: it must be a whole number from 0 to 20\n  try:     --real 3`);
  process.exit(2);
}

// The trainer of this job is simulated, as the nodes are that it runs on.
const simulated = { workers: 3, nodeSelector: { type: 'kwok' } };
const { world, kcover, job } = await setScene({ nodes: count, realNodes, mode: 'act', tell: (line) => console.error(line) }, simulated);
const [pod] = await podsOf(world.api, job);
const node = world.nodes.find(({ name }) => name === pod?.spec?.nodeName);
console.log(`
kubeconfig   ${world.kubernetes.kubeconfig}
temporal     ${world.temporal.address}
ui           ${world.temporal.uiUrl}
directory    ${world.directory}
records      ${kcover.records}
${world.realNodes.map(({ name, address, kubelet }) => `real node    ${name} ${address}, logs ${kubelet.log}\n`).join('')}
In another terminal:
  export KUBECONFIG=${world.kubernetes.kubeconfig} TEMPORAL_ADDRESS=${world.temporal.address}
  npx kcover status pytorchjob/llm -n train

To break ${node?.name}, where ${pod?.metadata?.name} runs:
  echo 'NVRM: Xid (PCI:0000:5d:00): 79, pid=4242, name=python, GPU has fallen off the bus.' >> ${join(node?.hostRoot ?? '', kernelLog)}

Ctrl-C ends it and leaves nothing behind.`);
setInterval(() => undefined, 60_000);

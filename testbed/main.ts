import { Command } from 'commander';
import { join } from 'node:path';
import { podsOf } from './jobs.ts';
import { kernelLog } from './nodes.ts';
import { setUpDemo } from './demo-fixture.ts';

const { nodes, real } = new Command('testbed')
  .description(
    'A real Temporal, a real Kubernetes control plane, simulated GPU nodes, kcover and a training job, until Ctrl-C',
  )
  .option('--nodes <number>', 'simulated GPU nodes', '8')
  .option('--real <number>', 'nodes with real kubelets and containers beside them (needs root)', '0')
  .parse()
  .opts<{ nodes: string; real: string }>();

const count = Number(nodes);
if (!Number.isInteger(count) || count < 4 || count > 200) {
  console.error(
    `error[usage]: --nodes ${nodes} cannot be used\n  because: it must be a whole number from 4 to 200\n  try:     --nodes 16`,
  );
  process.exit(2);
}

const realNodes = Number(real);
if (!Number.isInteger(realNodes) || realNodes < 0 || realNodes > 20) {
  console.error(
    `error[usage]: --real ${real} cannot be used\n  because: it must be a whole number from 0 to 20\n  try:     --real 3`,
  );
  process.exit(2);
}

// The trainer of this job is simulated, like the nodes that it runs on.
const simulated = { workers: 3, nodeSelector: { type: 'kwok' } };
const { cluster, kcover, job } = await setUpDemo(
  { nodes: count, realNodes, mode: 'act', print: (line) => console.error(line) },
  simulated,
);
const [pod] = await podsOf(cluster.api, job);
const node = cluster.nodes.find(({ name }) => name === pod?.spec?.nodeName);
console.log(`
kubeconfig   ${cluster.kubernetes.kubeconfig}
temporal     ${cluster.temporal.address}
ui           ${cluster.temporal.uiUrl}
directory    ${cluster.directory}
records      ${kcover.records}
${cluster.realNodes.map(({ name, address, kubelet }) => `real node    ${name} ${address}, logs ${kubelet.log}\n`).join('')}
In another terminal:
  export KUBECONFIG=${cluster.kubernetes.kubeconfig} TEMPORAL_ADDRESS=${cluster.temporal.address}
  npx kcover status pytorchjob/llm -n train

To break ${node?.name}, where ${pod?.metadata?.name} runs:
  echo 'NVRM: Xid (PCI:0000:5d:00): 79, pid=4242, name=python, GPU has fallen off the bus.' >> ${join(node?.hostRoot ?? '', kernelLog)}

Ctrl-C ends it and leaves nothing behind.`);
setInterval(() => undefined, 60_000);

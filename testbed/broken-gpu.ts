/** Demo: a GPU falls off the bus in the middle of training. */

import { breakGpu, failContainer } from './failures.ts';
import { watchIncident } from './incident.ts';
import { podsOf } from './jobs.ts';
import { setUpDemo } from './demo-fixture.ts';
import type { Story } from './story.ts';

const line = 'NVRM: Xid (PCI:0000:5d:00): 79, pid=4242, name=python, GPU has fallen off the bus.';

export const brokenGpu: Story = {
  nodes: 8,
  set: (options) => setUpDemo(options),
  async run({ cluster, kcover, job }, print) {
    const before = await podsOf(cluster.api, job);
    print(`\nPyTorchJob train/llm runs on ${before.map((pod) => pod.spec?.nodeName).join(', ')}\n`);
    const failingPod = before.at(-1);
    const node = cluster.nodes.find((one) => one.name === failingPod?.spec?.nodeName);
    if (failingPod === undefined || node === undefined) throw new Error('the job has no pod on a node');

    const incident = await watchIncident(cluster, kcover, job, before, print);
    const since = new Date();
    incident.happened(`kernel of ${node.name}: ${line}`);
    await breakGpu(node, line);
    await failContainer(cluster.api, failingPod, { exitCode: 1 });
    incident.happened(`pod ${failingPod.metadata?.name} on ${node.name} failed with exit code 1`);
    const seen = await incident.ended();
    const ok = seen.outcome === 'restarted' || seen.outcome === 'recovered';
    return {
      seen,
      since,
      facts: { node: node.name },
      lines: [],
      commands: ['npx kcover recover pytorchjob/llm -n train --reason "to see it again"'],
      ok,
    };
  },
};

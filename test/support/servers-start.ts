import { join } from 'node:path';
import { deployAgents } from '../../testbed/agents.ts';
import { writeWorld } from '../../testbed/attach.ts';
import { bundleWorkflows } from '../../testbed/bundle.ts';
import { startWorld, stopOnSignals, type World } from '../../testbed/world.ts';

/** One set of servers for the whole run; tests find them through the file that KCOVER_TEST_WORLD names. */
export default async function start(): Promise<void> {
  const world = await startWorld({ nodes: 12, onProgress: (line) => console.error(line) });
  stopOnSignals(world);
  await deployAgents(world.api, world.nodes);
  const workflowBundle = await bundleWorkflows(join(world.directory, 'workflows.js'));
  const file = join(world.directory, 'world.json');
  writeWorld(file, world, { workflowBundle, temporalAddress: world.temporal.address, kubeconfig: world.kubernetes.kubeconfig });
  process.env['KCOVER_TEST_WORLD'] = file;
  (globalThis as { world?: World }).world = world;
}

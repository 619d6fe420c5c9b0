import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chartAdmission } from '../../scripts/generate/chart-admission.ts';
import { chartRbac } from '../../scripts/generate/chart-rbac.ts';
import { deployAgents } from '../../testbed/agents.ts';
import { writeWorld } from '../../testbed/attach.ts';
import { bundleWorkflows } from '../../testbed/bundle.ts';
import { chartDirectory, installChart, obtainHelm } from '../../testbed/chart.ts';
import { endOwnWorlds } from '../../testbed/run-directory.ts';
import { startWorld, stopOnSignals, type World } from '../../testbed/world.ts';

/** One set of servers for the whole run; tests find them through the file that KCOVER_TEST_WORLD names. */
export default async function start(): Promise<void> {
  const onProgress = (line: string): void => console.error(line);
  requireCurrentRights();
  const helm = await obtainHelm(onProgress);
  const world = await startWorld({ nodes: 12, onProgress });
  stopOnSignals(world);
  process.once('exit', endOwnWorlds);
  await installChart(helm, world);
  await deployAgents(world.api, world.nodes);
  const workflowBundle = await bundleWorkflows(join(world.directory, 'workflows.js'));
  const file = join(world.directory, 'world.json');
  writeWorld(file, world, { helm, workflowBundle, temporalAddress: world.temporal.address, kubeconfig: world.kubernetes.kubeconfig });
  process.env['KCOVER_TEST_WORLD'] = file;
  (globalThis as { world?: World }).world = world;
}

/** Everything here runs under the chart's rights and policies: with old ones much would be refused, and nothing would say why. */
function requireCurrentRights(): void {
  const template = (name: string): string => readFileSync(join(chartDirectory, 'templates', name), 'utf8');
  if (template('rbac.yaml') === chartRbac() && template('admission.yaml') === chartAdmission()) return;
  throw new Error(
    "the chart's rights and policies are not those of kube/permissions.ts\n  because: the table has changed since they were made\n  try:     npm run generate",
  );
}

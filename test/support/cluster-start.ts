import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chartAdmission } from '../../scripts/generate/chart-admission.ts';
import { chartRbac } from '../../scripts/generate/chart-rbac.ts';
import { deployAgents } from '../../testbed/agents.ts';
import { writeTestCluster } from '../../testbed/attach.ts';
import { bundleWorkflows } from '../../testbed/bundle.ts';
import { chartDirectory, installChart, obtainHelm } from '../../testbed/chart.ts';
import { endOwnTestClusters } from '../../testbed/run-directory.ts';
import { startTestCluster, stopOnSignals, type TestCluster } from '../../testbed/test-cluster.ts';

/** One set of servers for the whole run; tests find them through the file that KCOVER_TEST_CLUSTER names. */
export default async function start(): Promise<void> {
  const onProgress = (line: string): void => console.error(line);
  requireCurrentRights();
  const helm = await obtainHelm(onProgress);
  const cluster = await startTestCluster({ nodes: 12, onProgress });
  stopOnSignals(cluster);
  process.once('exit', endOwnTestClusters);
  await installChart(helm, cluster);
  await deployAgents(cluster.api, cluster.nodes);
  const workflowBundle = await bundleWorkflows(join(cluster.directory, 'workflows.js'));
  const file = join(cluster.directory, 'test-cluster.json');
  writeTestCluster(file, cluster, {
    helm,
    workflowBundle,
    temporalAddress: cluster.temporal.address,
    kubeconfig: cluster.kubernetes.kubeconfig,
  });
  process.env['KCOVER_TEST_CLUSTER'] = file;
  (globalThis as { cluster?: TestCluster }).cluster = cluster;
}

/** All tests run under the chart's rights and policies: outdated ones would refuse much without a clear reason. */
function requireCurrentRights(): void {
  const template = (name: string): string => readFileSync(join(chartDirectory, 'templates', name), 'utf8');
  if (template('rbac.yaml') === chartRbac() && template('admission.yaml') === chartAdmission()) return;
  throw new Error(
    "the chart's rights and policies are not those of kube/permissions.ts\n  because: the table has changed since they were made\n  try:     npm run generate",
  );
}

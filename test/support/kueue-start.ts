import { join } from 'node:path';
import { writeTestCluster } from '../../testbed/attach.ts';
import { deployAgents } from '../../testbed/agents.ts';
import { installChart, obtainHelm } from '../../testbed/chart.ts';
import { bundleWorkflows } from '../../testbed/bundle.ts';
import { obtainKueue, startKueue } from '../../testbed/kueue.ts';
import { endOwnTestClusters } from '../../testbed/run-directory.ts';
import { startTestCluster, stopOnSignals, type TestCluster } from '../../testbed/test-cluster.ts';

/** A test cluster with Kueue, whose first build takes minutes. */
export default async function start(): Promise<void> {
  const onProgress = (line: string): void => console.error(line);
  const kueue = await obtainKueue(onProgress);
  const helm = await obtainHelm(onProgress);
  const cluster = await startTestCluster({ nodes: 6, onProgress });
  stopOnSignals(cluster);
  process.once('exit', endOwnTestClusters);
  (globalThis as { cluster?: TestCluster }).cluster = cluster;
  await installChart(helm, cluster);
  await deployAgents(cluster.api, cluster.nodes);
  process.once('exit', await startKueue(cluster, kueue));
  const workflowBundle = await bundleWorkflows(join(cluster.directory, 'workflows.js'));
  const file = join(cluster.directory, 'test-cluster.json');
  writeTestCluster(file, cluster, {
    helm,
    workflowBundle,
    temporalAddress: cluster.temporal.address,
    kubeconfig: cluster.kubernetes.kubeconfig,
  });
  process.env['KCOVER_TEST_CLUSTER'] = file;
}

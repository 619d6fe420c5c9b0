import { join } from 'node:path';
import { writeTestCluster } from '../../testbed/attach.ts';
import { obtainJobControllers, startJobControllers } from '../../testbed/job-controllers.ts';
import { endOwnTestClusters } from '../../testbed/run-directory.ts';
import { startTestCluster, stopOnSignals, type TestCluster } from '../../testbed/test-cluster.ts';

/** A test cluster with the real controllers of further kinds of jobs, whose first build takes minutes. */
export default async function start(): Promise<void> {
  const onProgress = (line: string): void => console.error(line);
  const controllers = await obtainJobControllers(onProgress);
  const cluster = await startTestCluster({ nodes: 4, onProgress });
  stopOnSignals(cluster);
  process.once('exit', endOwnTestClusters);
  (globalThis as { cluster?: TestCluster }).cluster = cluster;
  process.once('exit', await startJobControllers(cluster, controllers));
  const file = join(cluster.directory, 'test-cluster.json');
  writeTestCluster(file, cluster, { kubeconfig: cluster.kubernetes.kubeconfig });
  process.env['KCOVER_TEST_CLUSTER'] = file;
}

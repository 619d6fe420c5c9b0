import type { TestCluster } from '../../testbed/test-cluster.ts';

export default async function stop(): Promise<void> {
  await (globalThis as { cluster?: TestCluster }).cluster?.stop();
}

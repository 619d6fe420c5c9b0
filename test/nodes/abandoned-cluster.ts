/** A process that starts a test cluster with a real node, prints its directory, and waits to be killed. */

import { startTestCluster } from '../../testbed/test-cluster.ts';

const { directory } = await startTestCluster({ nodes: 0, realNodes: 1 });
console.log(directory);
setInterval(() => undefined, 60_000);

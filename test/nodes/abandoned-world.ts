/** A process that starts a world with a real node, says where, and waits to be killed. */

import { startWorld } from '../../testbed/world.ts';

const { directory } = await startWorld({ nodes: 0, realNodes: 1 });
console.log(directory);
setInterval(() => undefined, 60_000);

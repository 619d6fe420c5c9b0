/** Activities of the repair of a node. */

import type { Activities } from '../../contract/wire/activities.ts';
import { readNode } from '../../kube/nodes/nodes.ts';
import type { Dependencies } from '../dependencies.ts';
import { drainNode } from './drain.ts';
import { runHook } from './hooks.ts';
import { machineView } from './machine.ts';
import { awaitProof } from './proof.ts';

type Remedies = Pick<Activities, 'observeMachine' | 'drainNode' | 'runHook' | 'awaitProof'>;

export const remedyActivities = (dependencies: Dependencies): Remedies => ({
  observeMachine: async ({ node }) => {
    const found = await readNode(dependencies.kube, node);
    return found ? machineView(found) : null;
  },
  drainNode: (request) => drainNode(dependencies, request),
  runHook: (request) => runHook(dependencies, request),
  awaitProof: (request) => awaitProof(dependencies, request),
});

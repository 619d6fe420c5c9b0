/** The machine behind a node. */

import type { V1Node } from '@kubernetes/client-node';
import type { MachineView } from '../../contract/remedy/remedy.ts';
import { acceleratorsIn, readinessOf } from '../../kube/nodes/nodes.ts';
import { amountsOf } from '../../kube/pods/requests.ts';

export const machineView = (node: V1Node): MachineView => ({
  uid: node.metadata?.uid ?? '',
  systemUuid: node.status?.nodeInfo?.systemUUID ?? '',
  bootId: node.status?.nodeInfo?.bootID ?? '',
  ready: readinessOf(node).ready,
  accelerators: acceleratorsIn(amountsOf(node.status?.allocatable)),
});

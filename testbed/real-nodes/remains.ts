import { removeGroups } from './cgroups.ts';
import { removeNetwork } from './network.ts';

/**
 * Removes what real nodes leave behind besides files, when their first processes have been killed: cgroups, as soon as the last container is
 * gone, and the bridge. Mounts and namespaces go with the processes. Nothing to do in a world without real nodes.
 */
export function removeRemains(runDirectory: string): void {
  removeGroups(runDirectory);
  removeNetwork(runDirectory);
}

/** Which containers of a running pod are a rank: when one exits, the rank has ended. Pure. */

import type { V1Container, V1Pod } from '@kubernetes/client-node';
import { isAccelerator } from '../../../faults/devices/accelerator.ts';

/** Whether the container of this name is a rank, while its pod has neither failed nor succeeded. */
export type IsRank = (pod: V1Pod, container: string) => boolean;

/**
 * Only the container of this name, as in training operator 1.8.1: it reads the exit code of a kind's default container and of no other
 * (`ReconcilePods`, `GetDefaultContainerName`), and its validation refuses a role without one.
 */
export const isNamed =
  (name: string): IsRank =>
  ({ spec }, container) =>
    container === name || !(spec?.containers ?? []).some((each) => each.name === name);

/**
 * Containers that request accelerators, or all where none does. The controller of a batch Job uses the phase of the pod and, with restart policy
 * OnFailure, counts the restarts of all its containers: neither shows which one trains. A metrics exporter beside a trainer is no rank.
 */
export const asksForAccelerators: IsRank = ({ spec }, container) => {
  const training = (spec?.containers ?? []).filter(hasAccelerators);
  return training.length === 0 || training.some(({ name }) => name === container);
};

const hasAccelerators = ({ resources }: V1Container): boolean =>
  Object.keys({ ...resources?.limits, ...resources?.requests }).some(isAccelerator);

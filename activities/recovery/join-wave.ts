/** Asks the workflow of the cluster whether a recovery may begin in the present wave. */

import type { V1Pod } from '@kubernetes/client-node';
import type { WaveAnswer, WaveRequest } from '../../contract/cluster.ts';
import type { Activities } from '../../contract/wire/activities.ts';
import { updates } from '../../contract/wire/messages.ts';
import { readObject } from '../../kube/client/requests.ts';
import { objectPath } from '../../kube/client/request-url.ts';
import { podsPath } from '../../kube/pods/pods.ts';
import { ClusterWorkflow } from '../cluster-workflow.ts';
import type { Dependencies } from '../dependencies.ts';

export function waveActivities(
  needs: Pick<Dependencies, 'kube' | 'settings' | 'temporal' | 'now'>,
): Pick<Activities, 'joinWave'> {
  const cluster = new ClusterWorkflow(needs);

  /** Zero for a pod that is gone, and for one without a priority class, as in Kubernetes. */
  async function priorityOf(namespace: string, name: string | undefined): Promise<number> {
    if (name === undefined) return 0;
    const pod = await readObject<V1Pod>(
      needs.kube,
      objectPath(podsPath(namespace), name),
      `read the priority of ${name} in ${namespace}`,
    );
    return pod?.spec?.priority ?? 0;
  }

  return {
    async joinWave({ incident, job, pod, pods, rule }) {
      const priority = await priorityOf(job.namespace, pod);
      return cluster.update<WaveRequest, WaveAnswer>(updates.joinWave, { recovery: incident, pods, priority, rule });
    },
  };
}

/** Looks for capacity for the next attempt, and makes some: with standby nodes, or with a smaller job. */

import type { Activities } from '../../contract/wire/activities.ts';
import { KcoverError } from '../../contract/errors.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { CapacityFacts } from '../../contract/recovery/plan.ts';
import { readWanted } from '../../kube/capacity.ts';
import { resizeJob } from '../../kube/jobs/size.ts';
import { readJob } from '../../kube/jobs/jobs.ts';
import { editNode, readNode } from '../../kube/nodes/nodes.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { standbyEdit } from '../../kube/nodes/standby.ts';
import type { Dependencies } from '../dependencies.ts';
import { findCapacity, sharedCapacitySource } from './find-capacity.ts';

type Capacity = Pick<Activities, 'observeCapacity' | 'takeStandbyNodes' | 'resizeJob'>;

export function capacityActivities({ kube, settings }: Pick<Dependencies, 'kube' | 'settings'>): Capacity {
  const { standbyTaint } = settings.recovery.capacity;
  const source = sharedCapacitySource(kube);

  async function observeCapacity({ job, pods }: Parameters<Capacity['observeCapacity']>[0]): Promise<CapacityFacts> {
    const wanted = await readWanted(kube, job, pods);
    if (!wanted) throw new KcoverError('job.gone', `${jobTitle(job)} in ${job.namespace} is gone`);
    return findCapacity(source, wanted, standbyTaint);
  }

  async function takeStandbyNode(name: string, incident: string): Promise<boolean> {
    const uid = (await readNode(kube, name))?.metadata?.uid;
    if (uid === undefined) return false;
    let taken = false;
    try {
      await editNode(kube, name, uid, (node) => {
        const edit = standbyEdit(node, { incident, standbyTaint, quarantine: settings.quarantine.taint });
        ({ taken } = edit);
        return edit.change;
      });
    } catch (error) {
      if (error instanceof KcoverError && error.code === 'node.gone') return false;
      throw error;
    }
    return taken;
  }

  return {
    observeCapacity,
    takeStandbyNodes: async ({ incident, nodes }) => {
      const answers = await inParallel(nodes, (node) => takeStandbyNode(node, incident));
      return { taken: nodes.filter((_, index) => answers[index]) };
    },
    resizeJob: async (request) => {
      // Opted out while it was stopped: it is resumed with the size that its owner gave it.
      const job = await readJob(kube, request.job, settings.quarantine.taint);
      return job?.optedIn === false ? { kind: 'refused', because: 'the job was opted out' } : resizeJob(kube, request);
    },
  };
}

/** Asks whether a remedy may act on its node: the Node objects and the settings first, then the workflow of the cluster. */

import type { V1Node } from '@kubernetes/client-node';
import type { PermitAnswer, PermitRequest, RepairEnded } from '../../contract/cluster.ts';
import { remedyId } from '../../contract/ids.ts';
import type { Activities } from '../../contract/wire/activities.ts';
import { signals, updates } from '../../contract/wire/messages.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { listObjects } from '../../kube/client/requests.ts';
import { hasAccelerators, nodeView } from '../../kube/nodes/nodes.ts';
import { whyNoRepair } from '../../policy/remedy/permit.ts';
import { ClusterWorkflow } from '../cluster-workflow.ts';
import type { Dependencies } from '../dependencies.ts';

/** A repair younger than this has just begun: whether its workflow runs is not looked up. */
const settledMs = 60_000;

export function permitActivities(
  needs: Pick<Dependencies, 'kube' | 'settings' | 'temporal' | 'now'>,
): Pick<Activities, 'permitRepair'> {
  const { kube, settings, now } = needs;
  const { taint, askAgain } = settings.quarantine;
  const cluster = new ClusterWorkflow(needs);

  async function nodes() {
    const all = await listObjects<V1Node>(kube, '/api/v1/nodes', {}, 'list the nodes before one is repaired');
    return all.map((node) => ({ ...nodeView(node, taint), accelerated: hasAccelerators(node) }));
  }

  const ask = (request: PermitRequest): Promise<PermitAnswer> => cluster.update(updates.permitRepair, request);

  /** Ends repairs whose workflow was terminated; true when there were any. */
  async function reconcile(): Promise<boolean> {
    const { repairs } = await cluster.status();
    const settled = repairs.filter(({ since }) => now() - since > settledMs);
    const ended = await inParallel(settled, async ({ remedy }) => ((await cluster.runs(remedy)) ? [] : [remedy]));
    for (const remedy of ended.flat()) await cluster.signal<RepairEnded>(signals.repairEnded, { remedy });
    return ended.flat().length > 0;
  }

  return {
    async permitRepair({ node, uid, incident }) {
      const all = await nodes();
      const others = all.filter(({ accelerated, taint: found }) => accelerated && !found?.ours);
      const against = whyNoRepair({ node: all.find(({ name }) => name === node), uid, incident, others }, settings);
      if (against?.kind === 'over') return { kind: 'over', because: against.because };
      if (against) return { kind: 'refused', because: against.because, askAgainMs: askAgain };
      const request = { remedy: remedyId(node, incident), node, most: settings.remediation.most };
      let answer = await ask(request);
      if (!answer.granted && (await reconcile())) answer = await ask(request);
      return answer.granted ? { kind: 'granted' } : { kind: 'refused', because: answer.because, askAgainMs: askAgain };
    },
  };
}

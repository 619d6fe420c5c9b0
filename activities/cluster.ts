/** What the workflow `cluster` must not lose: which nodes are out, and the pause. Both are stored in Kubernetes. */

import type { V1Node } from '@kubernetes/client-node';
import type { Activities } from '../contract/wire/activities.ts';
import type { Repair, Reservation } from '../contract/cluster.ts';
import { annotations, workflowTypes } from '../contract/ids.ts';
import type { RemedyPhase } from '../contract/remedy/remedy.ts';
import { storePause, readPause } from '../kube/stored-pause.ts';
import { domainsOf } from '../kube/nodes/fleet.ts';
import { nodeView } from '../kube/nodes/nodes.ts';
import { pagesOf } from '../kube/client/requests.ts';
import type { Dependencies } from './dependencies.ts';

export function clusterActivities({
  kube,
  namespace,
  settings,
  temporal,
  now,
  log,
}: Dependencies): Pick<Activities, 'observeCluster' | 'storePause'> {
  const { limit, taint } = settings.quarantine;
  const labels = Object.keys(limit.domains);

  function reservationOf(node: V1Node): Reservation[] {
    const { name, uid, taint: found } = nodeView(node, taint);
    if (!found?.ours) return [];
    const { incident = `node/${name}` } = found;
    const domains = domainsOf(node, labels);
    const tested = node.metadata?.annotations?.[annotations.quarantinePreflight];
    return [
      {
        nodeUid: uid,
        node: name,
        incident,
        since: timeIn(incident) ?? now(),
        ...(domains.length > 0 && { domains }),
        ...(tested !== undefined && { preflight: { namespace: tested } }),
      },
    ];
  }

  /** Remedies that may have acted. Without an answer the limit of nodes under repair counts anew, and every one of them asks before it acts again. */
  async function repairs(): Promise<Repair[]> {
    const query = `WorkflowType = '${workflowTypes.remedy}' AND ExecutionStatus = 'Running' AND KcoverPhase IN (${acting})`;
    const found: Repair[] = [];
    try {
      for await (const { workflowId, startTime } of temporal().workflow.list({ query }))
        found.push({ remedy: workflowId, node: workflowId.split('/')[1] ?? '', since: startTime.getTime() });
    } catch (error) {
      log.warn({ error }, 'the nodes under repair could not be listed');
    }
    return found;
  }

  return {
    async observeCluster() {
      const out: Reservation[] = [];
      for await (const page of pagesOf<V1Node>(kube, '/api/v1/nodes', {}, 'count the nodes that are out'))
        out.push(...page.flatMap(reservationOf));
      const pause = await readPause(kube, namespace);
      return { out, repairs: await repairs(), ...(pause && { pause }) };
    },
    storePause: (word) => storePause(kube, namespace, word),
  };
}

/** Phases of a remedy that has a permission. */
const acting = (['draining', 'remediating', 'verifying', 'probation'] satisfies RemedyPhase[])
  .map((phase) => `'${phase}'`)
  .join(', ');

/** `node/<name>/<UTC time>` */
function timeIn(incident: string): number | undefined {
  const at = Date.parse(incident.split('/').at(-1) ?? '');
  return Number.isNaN(at) ? undefined : at;
}

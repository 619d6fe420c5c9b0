/** What evidence is taken from: the API server, and the kubelets behind it. */

import type { KubernetesObject, V1Node, V1Pod } from '@kubernetes/client-node';
import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { jobPath } from '../../kube/jobs/kinds/index.ts';
import { readNode } from '../../kube/nodes/nodes.ts';
import { eventsByObject, type ObjectEvent } from '../../kube/events/object-events.ts';
import { readPodLog } from '../../kube/pods/logs.ts';
import { listMatchingPods } from '../../kube/pods/pods.ts';
import { readObject } from '../../kube/client/requests.ts';
import type { LogOf } from './summary.ts';

export interface FoundEvents {
  /** By UID; of nodes by name. */
  readonly of: ReadonlyMap<string, readonly ObjectEvent[]>;
  readonly more: boolean;
}

/** Every method throws errors of the catalogue. Only `log` is called once for each pod; the others do not depend on the number of pods. */
export interface EvidenceSource {
  job(): Promise<KubernetesObject | undefined>;
  node(name: string): Promise<V1Node | undefined>;
  pods(): Promise<readonly V1Pod[]>;
  events(of: 'pods' | 'job' | { readonly node: string }, signal: AbortSignal): Promise<FoundEvents>;
  /** Undefined when there is none. */
  log(
    pod: string,
    log: LogOf,
    bounds: { readonly lines: number; readonly bytes: number; readonly signal: AbortSignal },
  ): Promise<string | undefined>;
}

export const clusterSource = (kube: Kube, job: JobRef): EvidenceSource => ({
  job: () => readObject(kube, jobPath(job), `read ${jobTitle(job)} in ${job.namespace}`),
  node: (name) => readNode(kube, name),
  pods: () => listMatchingPods(kube, job),
  events: (of, signal) => eventsByObject(kube, { ...eventsOf(job, of), signal }),
  log: (name, log, bounds) => readPodLog(kube, { namespace: job.namespace, pod: { name }, ...log, ...bounds }),
});

function eventsOf(
  job: JobRef,
  of: Parameters<EvidenceSource['events']>[0],
): { namespace: string; kind: string; name?: string } {
  if (of === 'pods') return { namespace: job.namespace, kind: 'Pod' };
  if (of === 'job') return { namespace: job.namespace, kind: job.kind, name: job.name };
  // Kubernetes stores Events of cluster-scoped objects in this namespace.
  return { namespace: 'default', kind: 'Node', name: of.node };
}

/** Unhealthy devices of the pods of jobs become faults of their nodes. */

import type { Logger } from 'pino';
import type { Fault } from '../../contract/faults/faults.ts';
import { type PodWithDevices, readPodDevices } from '../../faults/devices/pod-devices.ts';
import { foundFault } from '../../faults/found-fault.ts';
import { foldOccurrences, isRecorded, noOccurrences, type Occurrences, subjectKey } from '../../faults/occurrences.ts';
import type { WatchEvent } from '../../kube/client/watch.ts';
import { readJudgedState } from '../../kube/nodes/judged.ts';
import type { NodesWatch } from './nodes.ts';
import { watchStanding } from './standing-faults.ts';

type Pod = PodWithDevices & { readonly metadata?: { readonly uid?: string } };

export interface PodDevicesOptions extends Pick<NodesWatch, 'object' | 'offered' | 'report'> {
  readonly debounceMs: number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface PodDevicesWatch {
  see(event: WatchEvent<Pod>): void;
}

export function watchPodDevices(options: PodDevicesOptions): PodDevicesWatch {
  const { object: nodeObject, offered, report, debounceMs, log, signal } = options;
  /** By UID of a pod that has, or had, an unhealthy device. */
  const occurrences = new Map<string, Occurrences>();
  /** By UID of the pod: the resource of each fault by its id. */
  const resources = new Map<string, ReadonlyMap<string, string>>();
  const standing = watchStanding({ notify, log, signal });
  standing.setReachable(true);

  /** A device plugin that can see nothing reports all devices as unhealthy, and then the node offers none. */
  function notify(pod: string, fault: Fault): void {
    const resource = resources.get(pod)?.get(fault.id) ?? '';
    const { node = '' } = fault;
    if (isJudged(node, fault)) return log.info({ node, fault: fault.id }, 'a device was unhealthy at the release');
    if (resource.startsWith('claim:') || (offered(node, resource) ?? 0) > 0) return report(node, fault);
    log.warn({ node, fault: fault.id }, 'unobservable: a device is unhealthy, and its node offers none of them');
    // It counts again with the next change of the pod.
    standing.forget(pod);
  }

  /** What stood when the node was released does not count again. */
  function isJudged(node: string, { id }: Fault): boolean {
    const seen = nodeObject(node);
    return seen !== undefined && isRecorded(readJudgedState(seen).reported ?? [], id);
  }

  function forget(uid: string): void {
    occurrences.delete(uid);
    resources.delete(uid);
    standing.forget(uid);
  }

  return {
    see({ type, object }) {
      const uid = object.metadata?.uid ?? '';
      if (type === 'deleted') return forget(uid);
      const unhealthy = readPodDevices(object);
      const before = occurrences.get(uid);
      if (unhealthy.length === 0 && !before) return;
      // Kept while the pod exists: a device that is unhealthy once more is another fault.
      const now = foldOccurrences(before ?? noOccurrences, unhealthy);
      occurrences.set(uid, now);
      const resourceOf = new Map(unhealthy.map((device) => [subjectKey(device), device.resource]));
      const found = [...now.standing].map(([subject, { finding, key }]) => {
        const id = `allocatable/pod/${uid}/${key}`;
        const fault = foundFault(finding, { id, seenAt: new Date().toISOString() });
        return { resource: resourceOf.get(subject) ?? '', fault, debounceMs };
      });
      resources.set(uid, new Map(found.map(({ resource, fault }) => [fault.id, resource])));
      standing.see(uid, found);
    },
  };
}

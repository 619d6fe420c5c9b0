/** Unhealthy devices of the pods of jobs become faults of their nodes. */

import type { Logger } from 'pino';
import type { Fault } from '../../contract/faults/faults.ts';
import { type PodWithDevices, readPodDevices } from '../../faults/devices/pod-devices.ts';
import { foundFault } from '../../faults/found-fault.ts';
import type { WatchEvent } from '../../kube/client/watch.ts';
import type { NodesWatch } from './nodes.ts';
import { watchStanding } from './standing-faults.ts';

type Pod = PodWithDevices & { readonly metadata?: { readonly uid?: string } };

export interface PodDevicesOptions extends Pick<NodesWatch, 'offered' | 'report'> {
  readonly debounceMs: number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface PodDevicesWatch {
  see(event: WatchEvent<Pod>): void;
}

export function watchPodDevices({ offered, report, debounceMs, log, signal }: PodDevicesOptions): PodDevicesWatch {
  /** By UID of the pod: the resource of each fault by its id. */
  const resources = new Map<string, ReadonlyMap<string, string>>();
  const standing = watchStanding({ notify, log, signal });
  standing.setReachable(true);

  /** A device plugin that can see nothing reports all devices as unhealthy, and then the node offers none. */
  function notify(pod: string, fault: Fault): void {
    const resource = resources.get(pod)?.get(fault.id) ?? '';
    const { node = '' } = fault;
    if (resource.startsWith('claim:') || (offered(node, resource) ?? 0) > 0) return report(node, fault);
    log.warn({ node, fault: fault.id }, 'unobservable: a device is unhealthy, and its node offers none of them');
    // It counts again with the next change of the pod.
    standing.forget(pod);
  }

  return {
    see({ type, object }) {
      const uid = object.metadata?.uid ?? '';
      const unhealthy = type === 'deleted' ? [] : readPodDevices(object);
      if (unhealthy.length === 0) {
        resources.delete(uid);
        return standing.forget(uid);
      }
      const found = unhealthy.map(({ resource, finding }) => {
        const id = `allocatable/pod/${uid}/${finding.device}`;
        return { resource, fault: foundFault(finding, { id, seenAt: new Date().toISOString() }), debounceMs };
      });
      resources.set(uid, new Map(found.map(({ resource, fault }) => [fault.id, resource])));
      standing.see(uid, found);
    },
  };
}

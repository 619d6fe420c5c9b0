/** Health of the devices of a pod, which the kubelet writes where the gate ResourceHealthStatus is on. */

import { faultLimits } from '../../contract/faults/faults.ts';
import { oneLine } from '../../contract/text.ts';
import type { Finding } from '../finding.ts';
import { isAccelerator } from './accelerator.ts';

/** The part of a Pod object that matters here. */
export interface PodWithDevices {
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly containerStatuses?: readonly {
      readonly allocatedResourcesStatus?: readonly {
        readonly name: string;
        readonly resources?: readonly { readonly resourceID: string; readonly health?: string }[];
      }[];
    }[];
  };
}

/** An unhealthy device, with the name of its resource. */
export interface UnhealthyDevice {
  readonly resource: string;
  readonly finding: Finding;
}

/** A claim names no resource: the id of its device begins with the name of its driver. */
const isOfAccelerator = (resource: string, id: string): boolean =>
  isAccelerator(resource) || (resource.startsWith('claim:') && /gpu|npu/i.test(id.slice(0, 200)));

/** Unhealthy accelerators. `Unknown`, and a pod without the field, say nothing. */
export function readPodDevices({ metadata, spec, status }: PodWithDevices): readonly UnhealthyDevice[] {
  const node = spec?.nodeName;
  if (node === undefined) return [];
  return devicesOf(status)
    .filter(({ resource, id, health }) => health === 'Unhealthy' && isOfAccelerator(resource, id))
    .map(({ resource, id }) => {
      const device = oneLine(id, 64);
      const text = `${resource} ${device} of pod ${metadata?.namespace}/${metadata?.name} is Unhealthy`;
      return {
        resource,
        finding: {
          source: 'allocatable',
          code: 'allocatable/unhealthy-device',
          node,
          device,
          action: 'reset-gpu',
          message: oneLine(text, faultLimits.message),
          because: 'the kubelet reports what the device plugin, or the driver of the claim, says about the device',
        },
      };
    });
}

const devicesOf = (status: PodWithDevices['status']) =>
  (status?.containerStatuses ?? []).flatMap(({ allocatedResourcesStatus = [] }) =>
    allocatedResourcesStatus.flatMap(({ name, resources = [] }) =>
      resources.map(({ resourceID, health }) => ({ resource: oneLine(name, 100), id: resourceID, health })),
    ),
  );

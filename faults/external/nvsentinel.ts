/** Health events of NVSentinel, as its event exporter sends them: the code is its check, with the error code where there is one. */

import type { Action } from '../../contract/faults/action.ts';
import type { NvsentinelEvent } from '../../contract/wire/external.schema.ts';
import { parsePciAddress } from '../kernel/pci-address.ts';
import { codeIn, deviceIn, type MappedReports, sourceIn, whyUnusable } from './report.ts';

/**
 * Numbers of `RecommendedAction`: the exporter writes the number. Others, 99 (UNKNOWN) included, ask for nothing. What only a person can do is
 * `contact-support`. Source: data-models/protobufs/health_event.proto of NVIDIA/NVSentinel.
 */
const recommended: Readonly<Record<number, Action>> = {
  0: 'ignore', // NONE
  2: 'reset-gpu', // COMPONENT_RESET
  5: 'contact-support', // CONTACT_SUPPORT
  6: 'contact-support', // RUN_FIELDDIAG
  15: 'reboot', // RESTART_VM
  24: 'reboot', // RESTART_BM
  25: 'contact-support', // REPLACE_VM
  26: 'contact-support', // RUN_DCGMEUD
  39: 'restart-app', // RESTART_APP
};

/** Of one event; a node has at most 16 accelerators. */
const most = { codes: 8, devices: 16 } as const;

type HealthEvent = NvsentinelEvent['data']['healthEvent'];

export function fromNvsentinel({ data: { healthEvent } }: NvsentinelEvent): MappedReports {
  const { agent, nodeName, isHealthy, recommendedAction, generatedTimestamp, message } = healthEvent;
  const because = whyUnusable(nodeName, codeIn(healthEvent.checkName));
  if (because !== undefined) return { reports: [], unusable: [{ what: 'healthEvent', because }] };
  const action = recommended[recommendedAction];
  const reports = codesOf(healthEvent).flatMap((code) =>
    devicesOf(healthEvent).map((device) => ({
      source: sourceIn(agent),
      node: nodeName,
      code,
      ...(device !== undefined && { device }),
      ...(action !== undefined && { action }),
      state: isHealthy ? ('recover' as const) : ('occur' as const),
      at: generatedTimestamp,
      text: message || code,
    })),
  );
  return { reports, unusable: [] };
}

const codesOf = ({ checkName, errorCode }: HealthEvent): readonly string[] => {
  const codes = errorCode.slice(0, most.codes).map((error) => codeIn(`${checkName} ${error}`));
  return codes.length === 0 ? [codeIn(checkName)] : [...new Set(codes)];
};

/** PCI addresses, as faults of the kernel have them; the UUID of the GPU where there is none. */
function devicesOf({ entitiesImpacted }: HealthEvent): readonly (string | undefined)[] {
  const named = (type: string) =>
    entitiesImpacted.filter(({ entityType }) => entityType === type).map(({ entityValue }) => entityValue);
  const addresses = named('PCI').map((text) => parsePciAddress(text.slice(0, 40)) ?? deviceIn(text));
  const devices = addresses.length > 0 ? addresses : named('GPU_UUID').map(deviceIn);
  const usable = [...new Set(devices)].filter((device) => device !== '').slice(0, most.devices);
  return usable.length === 0 ? [undefined] : usable;
}

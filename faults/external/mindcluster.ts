/** Public faults of MindCluster. Their time is that of the begin, for `recover` too. */

import type { Action } from '../../contract/faults/action.ts';
import type { ExternalReport } from '../../contract/wire/external.ts';
import type { MindclusterFaults } from '../../contract/wire/external.schema.ts';
import { oneLine } from '../../contract/text.ts';
import { atMost, type MappedReports, sourceIn, whyUnusable } from './report.ts';

/**
 * By the second digit of the code: NotHandleFault, SubHealthFault (only warns) and SeparateFault. Sites may define codes that do not follow this:
 * `actionOf` of the sender is for them. Source: publicFaultConfiguration.json of Ascend/mind-cluster.
 */
const byLevel: Readonly<Record<string, Action>> = { 0: 'ignore', 2: 'contact-support' };

type PublicFault = MindclusterFaults['faults'][number];
type Influence = PublicFault['influence'][number];

export function fromMindcluster({ resource, faults }: MindclusterFaults): MappedReports {
  const places = faults.flatMap((fault) => fault.influence.map((influence) => ({ fault, influence })));
  const mapped = places.map((place) => ({
    ...place,
    because: whyUnusable(place.influence.nodeName, place.fault.faultCode),
  }));
  return atMost({
    reports: mapped.flatMap(({ fault, influence, because }) =>
      because === undefined ? reportsOf(sourceIn(resource), fault, influence) : [],
    ),
    unusable: mapped.flatMap(({ fault, influence: { nodeSN }, because }) =>
      because === undefined
        ? []
        : [
            {
              what: fault.faultCode,
              because: nodeSN === undefined ? because : `${because}, only ${oneLine(nodeSN, 80)}`,
            },
          ],
    ),
  });
}

/** One for each device; one for the node where no device is named. */
function reportsOf(source: string, fault: PublicFault, { nodeName = '', deviceIds }: Influence): ExternalReport[] {
  const { faultCode, faultTime, assertion, description } = fault;
  const action = byLevel[faultCode.charAt(1)];
  const devices = deviceIds.length === 0 ? [undefined] : [...new Set(deviceIds)];
  return devices.map((device) => ({
    source,
    node: nodeName,
    code: faultCode,
    ...(device !== undefined && { device: `npu-${device}` }),
    ...(action !== undefined && { action }),
    state: assertion,
    at: new Date(faultTime).toISOString(),
    text: description || faultCode,
  }));
}

/** ConfigMaps as the device plugin and NodeD of Ascend write them. */

import { createHash } from 'node:crypto';
import type { V1ConfigMap } from '@kubernetes/client-node';
import type { Api } from './api.ts';

export const ascendResource = 'huawei.com/Ascend910';

/** One fault of a chip; `at`: ms since the epoch. */
export interface ChipFault {
  readonly chip: number;
  readonly code: string;
  readonly level: string;
  readonly at: number;
  readonly isNetwork?: true;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const reportMap = (name: string, key: string, content: Readonly<Record<string, object>>): V1ConfigMap => {
  const [body] = Object.values(content);
  // Go writes no other form of these texts: they contain no signs that it escapes.
  const text = JSON.stringify({ ...content, CheckCode: sha256(JSON.stringify(body)) });
  return { metadata: { name, labels: { 'mx-consumer-cim': 'true' } }, data: { [key]: text } };
};

export function deviceInfo(node: string, faults: readonly ChipFault[]): V1ConfigMap {
  const chips = (some: readonly number[]) => some.map((chip) => `Ascend910-${chip}`).join(',');
  const bad = (isNetwork: boolean) =>
    faults.filter((one) => (one.isNetwork ?? false) === isNetwork).map(({ chip }) => chip);
  const entries = faults.map(({ chip, code, level, at, isNetwork }) => ({
    fault_type: isNetwork ? 'CardNetworkUnhealthy' : 'CardUnhealthy',
    npu_name: `Ascend910-${chip}`,
    large_model_fault_level: level,
    fault_level: level,
    fault_handling: level,
    fault_code: code,
    fault_time_and_level_map: { [code]: { fault_time: at, fault_level: level } },
  }));
  const DeviceList = {
    [ascendResource]: chips([0, 1, 2, 3, 4, 5, 6, 7].filter((chip) => !bad(false).includes(chip))),
    [`${ascendResource}-Fault`]: JSON.stringify(entries),
    [`${ascendResource}-NetworkUnhealthy`]: chips(bad(true)),
    [`${ascendResource}-Recovering`]: '',
    [`${ascendResource}-Unhealthy`]: chips(bad(false)),
  };
  const DeviceInfo = { DeviceList, UpdateTime: Math.floor(Date.now() / 1000) };
  return reportMap(`mindx-dl-deviceinfo-${node}`, 'DeviceInfoCfg', { DeviceInfo });
}

/** `beat`: the time that its node shows. */
export const heartbeat = (node: string, beat: number, seconds: number): V1ConfigMap =>
  reportMap(`mindx-dl-nodeinfo-${node}`, 'NodeInfo', {
    NodeInfo: { HeartbeatTime: beat, HeartbeatInterval: seconds },
  });

/** Updates the ConfigMap, or creates it. */
export async function writeReport(api: Api, namespace: string, body: V1ConfigMap): Promise<void> {
  const name = body.metadata?.name ?? '';
  try {
    await api.core.replaceNamespacedConfigMap({ name, namespace, body });
  } catch (error) {
    if ((error as { readonly code?: number }).code !== 404) throw error;
    await api.core.createNamespacedConfigMap({ namespace, body });
  }
}

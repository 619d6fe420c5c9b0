/** Reads `ibv_devinfo`, with or without `-v`. */

import { linesOf, type ToolReading } from '../reading.ts';
import { judgePorts } from './port.ts';

/** Never throws. */
export function readIbvDevinfo(text: string): ToolReading {
  const ports: { device: string; port: string; state: string | undefined; physState: string | undefined }[] = [];
  let device: string | undefined;
  for (const line of linesOf(text).map((one) => one.trim())) {
    const [, key = '', value = ''] = /^(hca_id|port|state|phys_state):\s{0,40}([\w.:-]{1,64})/.exec(line) ?? [];
    if (key === 'hca_id') device = value;
    if (device === undefined) continue;
    if (key === 'port') ports.push({ device, port: value, state: undefined, physState: undefined });
    const last = ports.at(-1);
    if (last?.device !== device) continue;
    if (key === 'state') last.state = value;
    if (key === 'phys_state') last.physState = value;
  }
  return judgePorts('ibv_devinfo', ports);
}

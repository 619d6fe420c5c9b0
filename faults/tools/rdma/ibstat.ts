/** Reads `ibstat` of infiniband-diags. */

import { linesOf, type ToolReading } from '../reading.ts';
import { judgePorts, type ToolPort } from './port.ts';

const fields: Readonly<Record<string, 'state' | 'physState' | 'rate'>> = {
  State: 'state',
  'Physical state': 'physState',
  Rate: 'rate',
};

/** Never throws. */
export function readIbstat(text: string): ToolReading {
  const ports: { device: string; port: string; state?: string; physState?: string; rate?: string }[] = [];
  let device: string | undefined;
  for (const line of linesOf(text).map((one) => one.trim())) {
    const [, name] = /^CA '([\w.:-]{1,64})'$/.exec(line) ?? [];
    if (name !== undefined) device = name;
    const [, port] = /^Port (\d{1,3}):$/i.exec(line) ?? [];
    if (port !== undefined && device !== undefined) ports.push({ device, port });
    const [, key = '', value = ''] = /^([A-Z][\w ]{1,30}):\s{0,8}(\S.{0,60})?$/.exec(line) ?? [];
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    const last = ports.at(-1);
    if (field !== undefined && value !== '' && last?.device === device && last !== undefined) last[field] = value;
  }
  return judgePorts('ibstat', ports satisfies readonly Partial<ToolPort>[] as readonly ToolPort[]);
}

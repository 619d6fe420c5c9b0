/** Faults of the hardware of a node in the NodeInfo of NodeD, which reads them from the iBMC. */

import { faultLimits } from '../../contract/faults/faults.ts';
import { oneLine } from '../../contract/text.ts';
import type { AscendFault } from './fault.ts';
import { codesIn, type Fields, fieldsOf, textOf } from './fields.ts';
import { decideLevel } from './levels.ts';

const most = 64;

export const nodeFaults = (node: string, { FaultDevList }: Fields): readonly AscendFault[] =>
  (Array.isArray(FaultDevList) ? FaultDevList.slice(0, most) : []).map(fieldsOf).flatMap((entry): AscendFault[] => {
    const { DeviceType, DeviceId, FaultCode, FaultLevel } = entry;
    const codes = Array.isArray(FaultCode) ? FaultCode.slice(0, 32).flatMap((code) => codesIn(textOf(code, 60))) : [];
    const level = oneLine(textOf(FaultLevel, 40), 40);
    const device = oneLine(`${textOf(DeviceType, 40)} ${typeof DeviceId === 'number' ? DeviceId : ''}`, 64);
    const { because, ...verdict } = decideLevel(level);
    return codes.map((code) => ({
      finding: {
        source: 'device-plugin',
        code: `ascend/${code}`,
        node,
        ...(device !== '' && { device }),
        ...verdict,
        message: oneLine(`${code} of ${device}, level ${level}`, faultLimits.message),
        because,
      },
    }));
  });

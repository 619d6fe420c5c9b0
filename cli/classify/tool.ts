/** Outputs of tools that look at the hardware of a node. */

import type { Findings } from '../../faults/finding.ts';
import { readChronyc } from '../../faults/tools/chronyc.ts';
import { readHccn } from '../../faults/tools/hccn.ts';
import { readMxSmi } from '../../faults/tools/mx-smi.ts';
import { readNvidiaSmiCsv } from '../../faults/tools/nvidia-smi/csv.ts';
import { readNvlink } from '../../faults/tools/nvidia-smi/nvlink.ts';
import { readNvidiaSmiXml } from '../../faults/tools/nvidia-smi/xml.ts';
import { readIbstat } from '../../faults/tools/rdma/ibstat.ts';
import { readIbvDevinfo } from '../../faults/tools/rdma/ibv-devinfo.ts';
import type { Reader } from './reader.ts';

const tools: Readonly<Record<string, (text: string) => Findings>> = {
  'nvidia-smi': (text) => readNvidiaSmiCsv(text),
  'nvidia-smi-xml': (text) => readNvidiaSmiXml(text),
  nvlink: readNvlink,
  ibstat: readIbstat,
  ibv_devinfo: readIbvDevinfo,
  'mx-smi': (text) => readMxSmi(text),
  hccn: readHccn,
  chronyc: (text) => readChronyc(text),
};

export const tool: Reader = {
  describe:
    'Read the output of a tool: nvidia-smi is --query-gpu as CSV, nvidia-smi-xml is -q -x, chronyc is -c tracking',
  formats: Object.keys(tools),
  read(text, format) {
    const { faults, unobservable } = tools[format]?.(text) ?? { faults: [], unobservable: [] };
    return { faults, unobservable };
  },
};

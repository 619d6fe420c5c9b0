/**
 * Reads `nvidia-smi nvlink -s`. An inactive link is a finding only where another link of the node is active: GPUs without a bridge or a switch
 * have links too, and all of them are inactive.
 */

import { deviceName, linesOf, nothingRead, toolFinding, type ToolReading } from '../reading.ts';

interface GpuLinks {
  readonly index: string;
  readonly uuid: string | undefined;
  readonly active: Set<number>;
  readonly inactive: Set<number>;
  readonly unread: Set<number>;
  /** NVML prints one line instead of a list where no link is active. */
  allInactive: boolean;
}

const header = /^GPU (\d{1,3}): [^(]{0,100}(?:\(UUID: (GPU-[\w-]{1,60})\))?/;
const link = /^Link (\d{1,3}): (.{1,40})$/;
const rate = /^\d{1,4}(?:\.\d{1,6})? GB\/s$/;

function gpusIn(text: string): readonly GpuLinks[] {
  const gpus = new Map<string, GpuLinks>();
  let gpu: GpuLinks | undefined;
  for (const line of linesOf(text).map((one) => one.trim())) {
    const [, index, uuid] = header.exec(line) ?? [];
    if (index !== undefined) {
      gpu = gpus.get(index) ?? {
        index,
        uuid: deviceName(uuid ?? ''),
        active: new Set(),
        inactive: new Set(),
        unread: new Set(),
        allInactive: false,
      };
      gpus.set(index, gpu);
    }
    if (gpu === undefined) continue;
    if (/all links are inActive/i.test(line)) gpu.allInactive = true;
    const [, number, state = ''] = link.exec(line) ?? [];
    if (number === undefined) continue;
    const where = rate.test(state) ? gpu.active : state === '<inactive>' ? gpu.inactive : gpu.unread;
    where.add(Number(number));
  }
  return [...gpus.values()];
}

/** Never throws. */
export function readNvlink(text: string): ToolReading {
  const gpus = gpusIn(text);
  if (gpus.length === 0) return nothingRead('smi', 'NVLink', 'the output names no GPU');
  const isLinked = gpus.some(({ active }) => active.size > 0);
  const down = gpus.filter(({ inactive, allInactive }) => inactive.size > 0 || allInactive);
  return {
    devices: gpus.length,
    faults: isLinked ? down.map(inactiveLinks) : [],
    unobservable: [
      ...gpus.flatMap(({ index, unread }) =>
        unread.size === 0
          ? []
          : [
              {
                source: 'smi' as const,
                what: `links ${list(unread)} of GPU ${index}`,
                because: 'neither a rate nor <inactive>',
              },
            ],
      ),
      ...(isLinked || down.length === 0
        ? []
        : [
            {
              source: 'smi' as const,
              what: 'NVLink',
              because: 'no link of any GPU is active, as without a bridge or a switch',
            },
          ]),
    ],
  };
}

const list = (numbers: ReadonlySet<number>): string => [...numbers].slice(0, 32).join(', ');

function inactiveLinks({ index, uuid, inactive }: GpuLinks) {
  const links = inactive.size === 0 ? 'all links' : `links ${list(inactive)}`;
  return toolFinding({
    source: 'smi',
    code: 'smi/nvlink-inactive',
    device: uuid ?? `gpu-${index}`,
    message: `nvidia-smi nvlink: ${links} of GPU ${index} are inactive`,
    because:
      'A link of this GPU is inactive while others of the node are active: its bandwidth is lower, or it has none.',
  });
}

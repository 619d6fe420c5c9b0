/**
 * Reads the lists of MetaX's mx-smi: `-L`, `--show-temperature` and `--count-ecc`, one of them or all, one after the other.
 * A state, a temperature or a count that is missing or no number is unobservable, not broken.
 */

import type { Findings } from '../finding.ts';
import { parsePciAddress } from '../kernel/pci-address.ts';
import { linesOf, nothingRead, together, toolFinding, type ToolReading } from './reading.ts';

export interface MxSmiLimits {
  /** GPUs that must be available; 0: not compared. */
  readonly gpus: number;
  /** Celsius; a hotspot at or above it is too hot. */
  readonly temperature: number;
  /** Double-bit errors that one GPU may have. */
  readonly eccErrors: number;
}

/** Those of MetaX's own daily check. */
export const usualLimits: MxSmiLimits = { gpus: 0, temperature: 85, eccErrors: 64 };

interface MetaxGpu {
  readonly index: string;
  device: string;
  state?: string;
  readonly temperatures: string[];
  readonly eccErrors: string[];
}

/** `GPU#0    MXC500      0000:08:00.0   Available (UUID: GPU-...)`; the lists of values print it without a state. */
const card = /^GPU#(\d{1,3})(?: {1,20}(\S{1,40}))?(?: {1,20}(\S{1,40}))?(?: {1,20}(\S.{0,200}))?$/;
const hotspot = /^hotspot\([^)]{0,40}\)[^:]{0,40}:(.{0,60})$/;
const doubleBit = /^Double Bit ECC[^:]{0,60}:(.{0,60})$/;

function gpusIn(text: string): readonly MetaxGpu[] {
  const gpus = new Map<string, MetaxGpu>();
  let gpu: MetaxGpu | undefined;
  for (const line of linesOf(text).map((one) => one.trim())) {
    const [, index, , address = '', state] = card.exec(line) ?? [];
    if (index !== undefined) {
      gpu = gpus.get(index) ?? { index, device: `gpu-${index}`, temperatures: [], eccErrors: [] };
      gpu.device = parsePciAddress(address) ?? gpu.device;
      if (state !== undefined) gpu.state = state.replace(/\(UUID:.{0,100}$/, '').trim();
      gpus.set(index, gpu);
    }
    const temperature = hotspot.exec(line)?.[1];
    if (temperature !== undefined) gpu?.temperatures.push(temperature.trim());
    const errors = doubleBit.exec(line)?.[1];
    if (errors !== undefined) gpu?.eccErrors.push(errors.trim());
  }
  return [...gpus.values()];
}

const numberIn = (text: string): number | undefined =>
  /^-?\d{1,9}(?:\.\d{1,6})?$/.test(text) ? Number(text) : undefined;

const unread = (what: string, index: string, text: string): Findings => ({
  faults: [],
  unobservable: [
    { source: 'smi', what: `${what} of GPU#${index}`, because: `mx-smi prints ${text.slice(0, 60) || 'nothing'}` },
  ],
});

function judgeTemperature({ index, device }: MetaxGpu, text: string, { temperature: limit }: MxSmiLimits): Findings {
  const value = numberIn(text.replace(/ ?C$/, ''));
  if (value === undefined) return unread('hotspot temperature', index, text);
  if (value < limit) return { faults: [], unobservable: [] };
  const message = `mx-smi: the hotspot of GPU#${index} has ${value} C, the limit is ${limit} C`;
  const because = 'The GPU is at or above the temperature limit of the settings.';
  return { faults: [toolFinding({ source: 'smi', code: 'smi/too-hot', device, message, because })], unobservable: [] };
}

function judgeErrors({ index, device }: MetaxGpu, text: string, { eccErrors: limit }: MxSmiLimits): Findings {
  const value = numberIn(text);
  if (value === undefined) return unread('double-bit errors', index, text);
  if (value <= limit) return { faults: [], unobservable: [] };
  const message = `mx-smi: GPU#${index} has ${value} double-bit ECC errors, the limit is ${limit}`;
  const because = 'The GPU has more memory errors than the settings allow.';
  return {
    faults: [toolFinding({ source: 'smi', code: 'smi/ecc-limit', device, message, because })],
    unobservable: [],
  };
}

function judgeState({ index, device, state }: MetaxGpu): Findings {
  if (state === undefined || state === 'Available') return { faults: [], unobservable: [] };
  const message = `mx-smi: GPU#${index} is ${state}`;
  const because = 'The driver lists the GPU and cannot use it.';
  return {
    faults: [toolFinding({ source: 'smi', code: 'smi/gpu-unavailable', device, message, because })],
    unobservable: [],
  };
}

/** GPUs that are there and not available are faults of their own, so this is about those that are not listed. */
function judgeNumber(listed: number, { gpus: expected }: MxSmiLimits): Findings {
  if (listed === 0 || listed >= expected) return { faults: [], unobservable: [] };
  const message = `mx-smi lists ${listed} of ${expected} GPUs`;
  const because = 'The driver does not list as many GPUs as the node should have.';
  return { faults: [toolFinding({ source: 'smi', code: 'smi/gpu-missing', message, because })], unobservable: [] };
}

/** Never throws. */
export function readMxSmi(text: string, limits: MxSmiLimits = usualLimits): ToolReading {
  const gpus = gpusIn(text);
  if (gpus.length === 0) return nothingRead('smi', 'mx-smi', 'the output names no GPU');
  const listed = gpus.filter(({ state }) => state !== undefined).length;
  return {
    devices: gpus.length,
    ...together([
      judgeNumber(listed, limits),
      ...gpus.flatMap((gpu) => [
        judgeState(gpu),
        ...gpu.temperatures.map((text) => judgeTemperature(gpu, text, limits)),
        ...gpu.eccErrors.map((text) => judgeErrors(gpu, text, limits)),
      ]),
    ]),
  };
}

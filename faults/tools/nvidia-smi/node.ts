/** Puts together what nvidia-smi says about all GPUs of a node, and compares their number. */

import type { Finding, Unobserved } from '../../finding.ts';
import { outputLimit, together, toolFinding, type ToolReading } from '../reading.ts';
import type { Failure } from './failure.ts';
import { type GpuFields, judgeGpu } from './gpu.ts';

export interface NvidiaSmiOptions {
  /** GPUs that the node should have; 0: not compared. */
  readonly gpus?: number;
}

export interface NvidiaSmiReading extends ToolReading {
  /** Why it does not say everything about every GPU: what is absent from it may be there. */
  readonly incomplete?: string | undefined;
  /** Uncorrected memory errors since the last reset, by device. */
  readonly eccErrors: ReadonlyMap<string, number>;
}

const eccField = 'ecc.errors.uncorrected.volatile.total';

export function judgeNode(
  gpus: readonly GpuFields[],
  failures: readonly Failure[],
  more: readonly Unobserved[],
  { gpus: expected = 0 }: NvidiaSmiOptions,
): NvidiaSmiReading {
  const each = gpus.map(judgeGpu);
  const judged = together(each);
  const lost = failures.flatMap((failure) => (failure.kind === 'lost' ? [failure.finding] : []));
  const noDevices = failures.some(({ kind }) => kind === 'no-devices');
  const unread = failures.flatMap((failure): Unobserved[] =>
    failure.kind === 'unobservable' ? [{ source: 'smi', what: failure.what, because: failure.because }] : [],
  );
  const faults = onePerDevice([...lost, ...judged.faults]);
  const devices = new Set([...gpus.map(({ name, device }) => device ?? name), ...lost.map(({ device }) => device)])
    .size;
  const seen = gpus.length > 0 || lost.length > 0 || noDevices;
  const reasons = [...unread, ...more];
  const unknown = seen || reasons.length > 0 ? reasons : [nothingKnown];
  // A lost card may take others out of the list, so it alone is the fault.
  const isLost = faults.some(({ code }) => code === 'smi/gpu-lost');
  const missing = unknown.length === 0 && devices < expected && !isLost;
  return {
    devices,
    faults: missing ? [...faults, gpuMissing(devices, expected)] : faults,
    unobservable: [...unknown, ...judged.unobservable, ...(noDevices && expected === 0 ? [noCards] : [])],
    incomplete: unknown[0]?.because ?? each.find(({ incomplete }) => incomplete !== undefined)?.incomplete,
    eccErrors: new Map(gpus.flatMap(eccErrorsOf)),
  };
}

function eccErrorsOf({ name, device, fields }: GpuFields): readonly (readonly [string, number])[] {
  const text = fields.get(eccField)?.trim() ?? '';
  return /^\d{1,15}$/.test(text) ? [[device ?? name, Number(text)]] : [];
}

const onePerDevice = (faults: readonly Finding[]): readonly Finding[] => [
  ...new Map(faults.map((fault) => [`${fault.code} ${fault.device ?? ''}`, fault])).values(),
];

const gpuMissing = (devices: number, expected: number): Finding =>
  toolFinding({
    source: 'smi',
    code: 'smi/gpu-missing',
    message: `nvidia-smi lists ${devices} of ${expected} GPUs`,
    because: 'The driver does not list as many GPUs as the node should have.',
  });

const nothingKnown: Unobserved = {
  source: 'smi',
  what: 'nvidia-smi',
  because: 'the output has no line of the expected form',
};

const noCards: Unobserved = {
  source: 'smi',
  what: 'GPUs',
  because: 'nvidia-smi found no device, as on a node without GPUs, and the number of GPUs of this node is not known',
};

/** Where an output was cut: the number of its GPUs then says nothing. */
export const cutOff = (text: string): readonly Unobserved[] =>
  text.length > outputLimit
    ? [{ source: 'smi', what: 'nvidia-smi', because: `the output has more than ${outputLimit} characters` }]
    : [];

/**
 * Judges what nvidia-smi says about one GPU. Fields have the names of `--query-gpu`; the reader of XML gives the same names to its elements.
 * Sources: `nvidia-smi --help-query-gpu`, nvml.h, and NVIDIA's page on memory errors of data center GPUs.
 */

import type { Findings } from '../../finding.ts';
import { toolFinding } from '../reading.ts';
import { recoveryCode } from './recovery-action.ts';
import type { FieldFault, Verdict } from './verdict.ts';

export interface GpuFields {
  /** As nvidia-smi counts them; only for people. */
  readonly name: string;
  /** PCI address `dddd:bb:dd`, or its UUID. */
  readonly device: string | undefined;
  readonly fields: ReadonlyMap<string, string>;
}

const yesNo =
  (code: string, because: string) =>
  (text: string): Verdict => {
    if (/^(?:yes|1)$/i.test(text)) return { code, because };
    return /^(?:no|0)$/i.test(text) ? 'fine' : 'unknown';
  };

function eccErrors(text: string): Verdict {
  if (!/^\d{1,18}$/.test(text)) return 'unknown';
  if (/^0+$/.test(text)) return 'fine';
  return {
    code: 'smi/ecc-uncorrected',
    because:
      'The GPU counted uncorrected memory errors since its last reset; its Xid lines say what follows from them.',
  };
}

/** The most particular reason first: the driver sets the general one beside it. */
const slowdowns = [
  [0x80n, 'smi/power-brake', 'The power supply of the node limits the clocks of the GPU.'],
  [0x40n, 'smi/hw-thermal', 'The GPU is too hot and limits its own clocks.'],
  [0x08n, 'smi/hw-slowdown', 'The hardware limits the clocks of the GPU, because of heat or of the power supply.'],
] as const;

function clockReasons(text: string): Verdict {
  if (!/^0x[0-9a-f]{1,16}$/i.test(text)) return 'unknown';
  const bits = BigInt(text);
  const [, code, because] = slowdowns.find(([bit]) => (bits & bit) !== 0n) ?? [];
  return code === undefined ? 'fine' : { code, because };
}

/** Some versions print the label again: `status Success`. */
function fabricStatus(text: string): Verdict {
  const status = text.replace(/^status {1,4}/i, '');
  if (/^success$/i.test(status)) return 'fine';
  if (!/^[A-Za-z][A-Za-z ]{1,40}$/.test(status)) return 'unknown';
  return {
    code: 'smi/fabric-error',
    because: 'The GPU could not join the NVLink fabric, so that it reaches no other GPU by it.',
  };
}

function uuid(text: string): Verdict {
  if (/^GPU-[\w-]{1,60}$/.test(text)) return 'fine';
  if (/^unknown error$/i.test(text))
    return {
      code: 'smi/gpu-lost',
      because: 'The driver cannot read the UUID of the GPU: it does not answer any more.',
    };
  return 'unknown';
}

/** What each field means; other fields are not judged. */
const rules: Readonly<Record<string, (text: string) => Verdict>> = {
  uuid,
  gpu_recovery_action: recoveryCode,
  'remapped_rows.pending': yesNo(
    'smi/rows-pending',
    'A memory row waits to be remapped, which the next reset of the GPU does.',
  ),
  'remapped_rows.failure': yesNo('smi/rows-failed', 'A memory row could not be remapped: NVIDIA replaces such a GPU.'),
  'sram.threshold_exceeded': yesNo(
    'smi/sram-threshold',
    'Too many uncorrected SRAM errors: NVIDIA asks for field diagnostics.',
  ),
  'channel_repair.pending': yesNo(
    'smi/repair-pending',
    'A memory channel waits for its repair, which the next reset of the GPU does.',
  ),
  'tpc_repair.pending': yesNo(
    'smi/repair-pending',
    'A processing cluster waits for its repair, which the next reset of the GPU does.',
  ),
  'ecc.errors.uncorrected.volatile.total': eccErrors,
  'clocks_event_reasons.active': clockReasons,
  'fabric.status': fabricStatus,
};

/** Names of the fields that are judged. */
export const judgedFields: readonly string[] = Object.keys(rules);

/** Instead of a value nvidia-smi prints the state of the GPU into any field. */
const states: readonly (readonly [says: RegExp, verdict: FieldFault])[] = [
  [
    /^gpu is lost\b/i,
    { code: 'smi/gpu-lost', because: 'The driver has lost the GPU: it is no longer reachable on PCIe.' },
  ],
  [
    /^gpu requires reset\b/i,
    { code: 'smi/reset-required', because: 'The driver says that the GPU must be reset before it can be used again.' },
  ],
];

/** `[N/A]` and `N/A` are the same. */
const bare = (text: string): string => /^\[(.*)\]$/.exec(text)?.[1] ?? text;

function judge(field: string, text: string): Verdict {
  const state = states.find(([says]) => says.test(text));
  return state?.[1] ?? rules[field]?.(text) ?? 'fine';
}

export interface JudgedGpu extends Findings {
  /** Why something that this GPU does report could not be read now. */
  readonly incomplete?: string;
}

/** What a GPU without the feature prints. */
const notReported = /^(?:n\/a|not supported|requested functionality has been deprecated)?$/i;

export function judgeGpu({ name, device, fields }: GpuFields): JudgedGpu {
  const faults = new Map<string, Findings['faults'][number]>();
  const unread = new Map<string, string[]>();
  for (const [field, printed] of fields) {
    const text = bare(printed.trim());
    const verdict = judge(field, text);
    if (verdict === 'fine') continue;
    if (verdict === 'unknown') {
      const shown = text.slice(0, 60);
      unread.set(shown, [...(unread.get(shown) ?? []), field]);
      continue;
    }
    const message = `nvidia-smi: ${field} of GPU ${name} is ${text}`;
    if (!faults.has(verdict.code))
      faults.set(verdict.code, toolFinding({ source: 'smi', device, message, ...verdict }));
  }
  const unobservable = [...unread].map(([shown, of]) => ({
    source: 'smi' as const,
    what: `${of.join(', ')} of GPU ${name}`,
    because: `nvidia-smi prints ${shown === '' ? 'nothing' : shown}`,
  }));
  const incomplete = [...unread.keys()].find((shown) => !notReported.test(shown));
  return {
    faults: [...faults.values()],
    unobservable,
    ...(incomplete !== undefined && { incomplete: `nvidia-smi prints ${incomplete} for GPU ${name}` }),
  };
}

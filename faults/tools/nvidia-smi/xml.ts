/** Reads `nvidia-smi -q -x`, as far as the fields that are judged. */

import { parsePciAddress } from '../../kernel/pci-address.ts';
import { linesOf } from '../reading.ts';
import { type XmlElement, xmlElements } from '../xml.ts';
import { type Failure, failureIn } from './failure.ts';
import type { GpuFields } from './gpu.ts';
import { judgeNode, type NvidiaSmiOptions, type NvidiaSmiReading } from './node.ts';

/** Elements below `gpu`, and the field that each is. */
const fieldOfElement: Readonly<Record<string, string>> = {
  uuid: 'uuid',
  gpu_recovery_action: 'gpu_recovery_action',
  'remapped_rows/remapped_row_pending': 'remapped_rows.pending',
  'remapped_rows/remapped_row_failure': 'remapped_rows.failure',
  'ecc_errors/aggregate/sram_threshold_exceeded': 'sram.threshold_exceeded',
  'ecc_errors/channel_repair_pending': 'channel_repair.pending',
  'ecc_errors/tpc_repair_pending': 'tpc_repair.pending',
  'fabric/status': 'fabric.status',
};

/** Elements whose text is only looked at for the state of a lost card. */
const liveElements: readonly string[] = ['performance_state', 'temperature/gpu_temp', 'utilization/gpu_util'];

const eccElements = ['sram_uncorrectable_parity', 'sram_uncorrectable_secded', 'dram_uncorrectable'].map(
  (name) => `ecc_errors/volatile/${name}`,
);

/** Bits of `clocks_event_reasons.active`, by the end of the element's name. */
const reasonBits = { hw_slowdown: 0x8, hw_thermal_slowdown: 0x40, hw_power_brake_slowdown: 0x80 } as const;

const reasonElement = (name: string): readonly string[] => [
  `clocks_event_reasons/clocks_event_reason_${name}`,
  `clocks_throttle_reasons/clocks_throttle_reason_${name}`,
];

/** As `--query-gpu` would print them: the sum, or the text that is no number. */
function eccOf(texts: ReadonlyMap<string, string>): string | undefined {
  const counts = eccElements.flatMap((name) => texts.get(name) ?? []);
  const other = counts.find((text) => !/^\d{1,15}$/.test(text));
  if (counts.length === 0 || other !== undefined) return other;
  return String(counts.reduce((sum, text) => sum + Number(text), 0));
}

function reasonsOf(texts: ReadonlyMap<string, string>): string | undefined {
  let bits = 0;
  let isThere = false;
  for (const [name, bit] of Object.entries(reasonBits)) {
    const text = reasonElement(name)
      .map((element) => texts.get(element))
      .find((value) => value !== undefined);
    if (text === undefined) continue;
    if (text !== 'Active' && text !== 'Not Active') return text;
    isThere = true;
    if (text === 'Active') bits += bit;
  }
  return isThere ? `0x${bits.toString(16)}` : undefined;
}

function gpuOf(id: string, texts: ReadonlyMap<string, string>, row: number): GpuFields {
  const address = parsePciAddress(id) ?? undefined;
  const fields = new Map<string, string>();
  for (const [element, text] of texts) {
    const field = Object.hasOwn(fieldOfElement, element) ? fieldOfElement[element] : undefined;
    if (field !== undefined) fields.set(field, text);
    else if (liveElements.includes(element) && /^\[?GPU /i.test(text)) fields.set(element, text);
  }
  const [ecc, reasons] = [eccOf(texts), reasonsOf(texts)];
  if (ecc !== undefined) fields.set('ecc.errors.uncorrected.volatile.total', ecc);
  if (reasons !== undefined) fields.set('clocks_event_reasons.active', reasons);
  return { name: address ?? `number ${row}`, device: address, fields };
}

/** The texts of every `gpu` element, by their path below it. */
function gpusIn(elements: readonly XmlElement[]): readonly GpuFields[] {
  const root = 'nvidia_smi_log/gpu';
  const gpus: { id: string; texts: Map<string, string> }[] = [];
  for (const { path, attributes, text } of elements) {
    if (path === root) gpus.push({ id: attributes.get('id') ?? '', texts: new Map() });
    else if (path.startsWith(`${root}/`)) gpus.at(-1)?.texts.set(path.slice(root.length + 1), text);
  }
  return gpus.map(({ id, texts }, at) => gpuOf(id, texts, at + 1));
}

/** Never throws: a document that is not whole is unobservable. */
export function readNvidiaSmiXml(text: string, options: NvidiaSmiOptions = {}): NvidiaSmiReading {
  const start = text.indexOf('<');
  const before = start < 0 ? text : text.slice(0, start);
  const failures = linesOf(before).flatMap((line): Failure[] => {
    const failure = failureIn(line);
    return failure === undefined ? [] : [failure];
  });
  if (start < 0) return judgeNode([], failures, [], options);
  const elements = xmlElements(text.slice(start));
  if (typeof elements === 'string')
    return judgeNode([], failures, [{ source: 'smi', what: 'nvidia-smi -q -x', because: elements }], options);
  return judgeNode(gpusIn(elements), failures, [], options);
}

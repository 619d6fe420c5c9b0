/** Reads `nvidia-smi --query-gpu=... --format=csv`: any columns below a header, or the columns of `queryFields` without one. */

import type { Unobserved } from '../../finding.ts';
import { parsePciAddress } from '../../kernel/pci-address.ts';
import { linesOf } from '../reading.ts';
import { type Failure, failureIn } from './failure.ts';
import { type GpuFields, judgedFields } from './gpu.ts';
import { cutOff, judgeNode, type NvidiaSmiOptions, type NvidiaSmiReading } from './node.ts';

/** The documented query, in its order. */
export const queryFields: readonly string[] = [
  'index',
  'uuid',
  'pci.bus_id',
  'temperature.gpu',
  'power.draw',
  'utilization.gpu',
  'clocks.sm',
  'clocks_event_reasons.active',
  'ecc.errors.uncorrected.volatile.total',
  'remapped_rows.pending',
  'remapped_rows.failure',
  'pcie.link.width.current',
  'fabric.state',
  'fabric.status',
  'gpu_recovery_action',
];

/** Names that other versions print for the same field. */
const aliases: Readonly<Record<string, string>> = {
  'clocks_throttle_reasons.active': 'clocks_event_reasons.active',
  gpu_uuid: 'uuid',
  gpu_bus_id: 'pci.bus_id',
};

/** Fields in which nvidia-smi prints the state of a lost card. */
const liveFields: readonly string[] = ['temperature.gpu', 'power.draw', 'utilization.gpu', 'clocks.sm'];

const cellsOf = (line: string): readonly string[] => line.split(',').map((cell) => cell.trim());

/** The columns of a header such as `index, power.draw [W]`; undefined for any other line. */
function columnsOf(line: string): readonly string[] | undefined {
  const names = cellsOf(line).map((cell) => cell.replace(/ \[[^\]]{1,10}\]$/, ''));
  if (!names.every((name) => /^[a-z][a-z0-9_.]{1,80}$/.test(name))) return undefined;
  const columns = names.map((name) => (Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name));
  return columns.some((name) => queryFields.includes(name)) ? columns : undefined;
}

function gpuOf(columns: readonly string[], cells: readonly string[], row: number): GpuFields {
  const all = new Map(columns.map((name, at) => [name, cells[at] ?? '']));
  const address = parsePciAddress(all.get('pci.bus_id') ?? '') ?? undefined;
  const [id] = /^GPU-[\w-]{1,60}$/.exec(all.get('uuid') ?? '') ?? [];
  const fields = [...all].filter(
    ([name, text]) => judgedFields.includes(name) || (liveFields.includes(name) && /^\[?GPU /i.test(text)),
  );
  const index = /^\d{1,3}$/.test(all.get('index') ?? '') ? all.get('index') : undefined;
  const name = index ?? address ?? `in row ${row}`;
  return { name, device: address ?? id ?? (index && `gpu-${index}`), fields: new Map(fields) };
}

/** Never throws: what it cannot read is unobservable. */
export function readNvidiaSmiCsv(text: string, options: NvidiaSmiOptions = {}): NvidiaSmiReading {
  const failures: Failure[] = [];
  const gpus: GpuFields[] = [];
  const broken: Unobserved[] = [];
  let columns: readonly string[] | undefined;
  for (const line of linesOf(text)) {
    if (line.trim() === '') continue;
    const failure = failureIn(line);
    if (failure !== undefined) {
      failures.push(failure);
      continue;
    }
    const header = columnsOf(line);
    if (header !== undefined) {
      columns = header;
      continue;
    }
    const cells = cellsOf(line);
    const wanted = columns ?? (/^\d{1,3}$/.test(cells[0] ?? '') ? queryFields : undefined);
    if (wanted === undefined) continue;
    if (cells.length === wanted.length) gpus.push(gpuOf(wanted, cells, gpus.length + 1));
    else broken.push(wrongLength(cells.length, wanted.length));
  }
  return judgeNode(gpus, failures, [...cutOff(text), ...broken.slice(0, 8)], options);
}

const wrongLength = (cells: number, columns: number): Unobserved => ({
  source: 'smi',
  what: 'a row of nvidia-smi',
  because: `it has ${cells} values for ${columns} columns`,
});

/** What nvidia-smi prints instead of a table: cards that the driver cannot open, and reasons why it sees nothing at all. */

import type { Finding } from '../../finding.ts';
import { parsePciAddress } from '../../kernel/pci-address.ts';
import { toolFinding } from '../reading.ts';

/** A line that is no part of a table. */
export type Failure =
  | { readonly kind: 'lost'; readonly finding: Finding }
  /** The driver answers and has no card. */
  | { readonly kind: 'no-devices' }
  | { readonly kind: 'unobservable'; readonly what: string; readonly because: string };

/** `GPU0000:CB:00.0`, `GPU 0000:CB:00.0` and `GPU1: 0000:34:00.0`, then the error of the driver. */
const handle =
  /^Unable to determine the device handle for GPU ?(?:\d{1,3}: ?)?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|\d{1,3}): (.{1,200})/i;

/** After other errors, such as missing rights, the card may be fine. */
const lost = /^(?:unknown error|gpu is lost)/i;

/** Texts after which nothing is known about any card. */
const unavailable =
  /^(?:NVIDIA-SMI has failed|Failed to initialize NVML|NVIDIA-SMI couldn't find|Field "|Failed to properly shut down|Invalid combination|Error:)/i;

export function failureIn(line: string): Failure | undefined {
  const text = line.trim();
  const [, card = '', error = ''] = handle.exec(text) ?? [];
  if (card !== '') {
    const device = parsePciAddress(card) ?? `gpu-${card}`;
    if (!lost.test(error))
      return { kind: 'unobservable', what: `GPU ${card}`, because: `nvidia-smi cannot open it: ${error}` };
    const because = 'The driver knows the card and cannot open it: it does not answer any more.';
    return {
      kind: 'lost',
      finding: toolFinding({ source: 'smi', code: 'smi/gpu-lost', device, message: text, because }),
    };
  }
  if (/^No devices were found/i.test(text)) return { kind: 'no-devices' };
  return unavailable.test(text) ? { kind: 'unobservable', what: 'nvidia-smi', because: text } : undefined;
}

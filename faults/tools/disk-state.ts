/** Interprets the `state` files of disks in sysfs. Sources: drivers/scsi/scsi_sysfs.c and drivers/nvme/host/sysfs.c of Linux. */

import type { Findings } from '../finding.ts';
import { toolFinding } from './reading.ts';

export interface DiskState {
  /** `sda`, `nvme0`. */
  readonly name: string;
  readonly pci?: string | undefined;
  readonly state: string;
}

/** States in which a disk serves requests, in which it does not any more, and in between. Any other text is unknown. */
const states: Readonly<Record<string, 'fine' | 'failed' | 'between'>> = {
  running: 'fine',
  live: 'fine',
  offline: 'failed',
  'transport-offline': 'failed',
  dead: 'failed',
  created: 'between',
  'created-blocked': 'between',
  blocked: 'between',
  quiesce: 'between',
  cancel: 'between',
  deleted: 'between',
  new: 'between',
  resetting: 'between',
  connecting: 'between',
  deleting: 'between',
  'deleting (no IO)': 'between',
};

/** Never throws. */
export function judgeDisk({ name, pci, state }: DiskState): Findings {
  const text = state.trim();
  const verdict = Object.hasOwn(states, text) ? states[text] : undefined;
  if (verdict === 'fine') return { faults: [], unobservable: [] };
  if (verdict !== 'failed') {
    const because = `its state is ${text.slice(0, 40) || 'empty'}`;
    return { faults: [], unobservable: [{ source: 'disk', what: `disk ${name}`, because }] };
  }
  const message = `disk ${name} is ${text}`;
  const because = 'The kernel has given up the disk after errors: nothing on it can be read or written.';
  return {
    faults: [toolFinding({ source: 'disk', code: 'disk/failed', device: pci ?? name, message, because })],
    unobservable: [],
  };
}

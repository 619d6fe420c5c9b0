/** Reads the states of SCSI and NVMe disks below the host root. Entries of /sys/block and /sys/class/nvme are links into /sys/devices. */

import { dirname } from 'node:path';
import { KcoverError } from '../../contract/errors.ts';
import { parsePciAddress } from '../../faults/kernel/pci-address.ts';
import type { DiskState } from '../../faults/tools/disk-state.ts';
import { listHostDirectory, readHostFile, readHostLink } from '../host-root.ts';

const devicesDirectory = '/sys/devices';

/** Where disks are listed, the names that count there, and where a disk has its state, seen from what its link refers to. */
const lists = [
  // A SCSI disk is at <device>/block/sda.
  { path: '/sys/block', name: /^sd[a-z]{1,4}$/, stateOf: (disk: string) => `${dirname(dirname(disk))}/state` },
  { path: '/sys/class/nvme', name: /^nvme\d{1,4}$/, stateOf: (disk: string) => `${disk}/state` },
] as const;

const most = { disks: 256, bytes: 256 } as const;

const isNotFound = (error: unknown): boolean => error instanceof KcoverError && error.code === 'not-found';

/** The last PCI address on the way to a device: that of its controller. */
function pciOf(path: string): string | undefined {
  const addresses = path.split('/').flatMap((part) => parsePciAddress(part) ?? []);
  return addresses.at(-1);
}

/** Throws where /sys of the node is not there, or a disk cannot be read. A node may have no disk of a kind. */
export async function readDisks(hostRoot: string, wanted: (name: string) => boolean): Promise<readonly DiskState[]> {
  await listHostDirectory(hostRoot, devicesDirectory, 1);
  const disks: DiskState[] = [];
  for (const { path, name: pattern, stateOf } of lists) {
    const isDisk = (name: string): boolean => pattern.test(name) && wanted(name);
    for (const name of await namesIn(hostRoot, path, isDisk)) {
      const disk = await readHostLink(hostRoot, `${path}/${name}`, devicesDirectory);
      const state = await readHostFile(hostRoot, stateOf(disk), most.bytes);
      disks.push({ name, pci: path === '/sys/class/nvme' ? pciOf(disk) : undefined, state });
    }
  }
  return disks;
}

async function namesIn(hostRoot: string, path: string, wanted: (name: string) => boolean): Promise<readonly string[]> {
  try {
    const { entries } = await listHostDirectory(hostRoot, path, most.disks, wanted);
    return entries.map(({ name }) => name);
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { detectors } from '../../agent/detectors/index.ts';
import { type Given, useNode } from './checked-node.ts';
import { until } from './until.ts';

const node = useNode();

describe('disks', () => {
  const mounts = (options: string) =>
    writeFile(join(node.root, 'proc/1/mounts'), `/dev/nvme0n1p1 /var/lib/data xfs ${options},relatime 0 0\n`);
  const state = (text: string) => writeFile(join(node.root, nvme, 'state'), `${text}\n`);
  const nvme = 'sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0';
  const sda = 'sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0';

  beforeEach(async () => {
    await mkdir(join(node.root, 'proc/1'), { recursive: true });
    await mkdir(join(node.root, nvme), { recursive: true });
    await mkdir(join(node.root, sda, 'block/sda'), { recursive: true });
    await mkdir(join(node.root, 'sys/class/nvme'), { recursive: true });
    await mkdir(join(node.root, 'sys/block'), { recursive: true });
    await symlink(`../../${nvme.slice(4)}`, join(node.root, 'sys/class/nvme/nvme0'));
    await symlink(`../${sda.slice(4)}/block/sda`, join(node.root, 'sys/block/sda'));
    await writeFile(join(node.root, sda, 'state'), 'running\n');
    await mounts('rw');
    await state('live');
  });

  const given: Given = { disks: { mounts: ['/var/lib/data'], devices: ['nvme*', 'sda'], every: '10ms' } };

  it('are not looked at unless the settings name them', async () => {
    const seen = node.observe(detectors.disk, {});
    await seen.is('off');
  });

  it('that fail and file systems that become read-only are faults', async () => {
    const seen = node.observe(detectors.disk, given);
    await seen.looks();
    await seen.is('watching', '1 mount points and 2 disks');
    expect(seen.faults).toEqual([]);
    await mounts('ro');
    await until(() => seen.faults.length > 0);
    await state('dead');
    await until(() => seen.faults.length > 1);
    await writeFile(join(node.root, sda, 'state'), 'offline\n');
    await until(() => seen.faults.length > 2);
    expect(seen.faults).toMatchObject([
      { code: 'disk/read-only', device: 'nvme0n1p1', action: 'reboot' },
      { code: 'disk/failed', device: '0000:01:00', action: 'contact-support' },
      { code: 'disk/failed', device: 'sda' },
    ]);
  });

  it('cannot be observed where nothing of the node is mounted, or a disk is being reset', async () => {
    const seen = node.observe(detectors.disk, given);
    await state('resetting');
    await seen.is('unavailable', 'its state is resetting');
    await rm(join(node.root, 'sys'), { recursive: true });
    await seen.is('unavailable', 'sys/devices');
    await rm(join(node.root, 'proc/1'), { recursive: true });
    await seen.is('unavailable', 'proc/1/mounts');
    expect(seen.faults).toEqual([]);
  });
});

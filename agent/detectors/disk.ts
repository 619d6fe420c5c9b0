/** Disks of the node that failed, and file systems that became read-only. */

import { matchesDevice } from '../../faults/link/port.ts';
import { judgeDisk } from '../../faults/tools/disk-state.ts';
import { judgeMounts } from '../../faults/tools/mounts.ts';
import { together } from '../../faults/tools/reading.ts';
import { type Check, type CheckReading, watchByCheck } from '../checks/watch.ts';
import { readDisks } from '../disks/sysfs.ts';
import { readHostFile } from '../host-root.ts';
import type { Detector, DetectorContext } from './detector.ts';

export const disk: Detector = {
  watches: 'disks, and file systems that become read-only',
  start: (context) => watchByCheck(context, checkOf(context)),
};

/** The mount table of the first process: `/proc/mounts` is a link to that of the process that reads it. */
const mountTable = '/proc/1/mounts';
const mostBytes = 4 * 1024 * 1024;

function checkOf({ hostRoot, settings: { disks: settings } }: DetectorContext): Check {
  const { mounts, devices } = settings;
  const isWanted = (name: string): boolean => devices.some((pattern) => matchesDevice(pattern, name));

  async function look(): Promise<CheckReading | { off: string }> {
    if (mounts.length === 0 && devices.length === 0) return { off: 'disks of the settings names nothing' };
    const table = mounts.length === 0 ? undefined : await readHostFile(hostRoot, mountTable, mostBytes);
    const disks = devices.length === 0 ? [] : await readDisks(hostRoot, isWanted);
    const { faults, unobservable } = together([
      ...(table === undefined ? [] : [judgeMounts(table, mounts)]),
      ...disks.map(judgeDisk),
    ]);
    const [unknown] = unobservable;
    return {
      findings: faults,
      read: mounts.length + disks.length,
      because: `reading ${mounts.length} mount points and ${disks.length} disks`,
      problem: unknown && `${unknown.what}: ${unknown.because}`,
    };
  }

  return { name: 'disk', what: 'disks', everyMs: settings.every, needed: () => 2, look };
}

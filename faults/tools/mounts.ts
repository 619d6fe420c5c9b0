/** Reads the mount table of a node (`/proc/1/mounts`), for mount points that must be writable. Source: proc_pid_mounts(5). */

import type { Findings } from '../finding.ts';
import { toolFinding } from './reading.ts';

/** Blanks, tabs, line breaks and backslashes are written as `\040`. */
const unescaped = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** The options of each mount point; of several mounts on one point the last one is seen by processes. */
function optionsByPoint(
  table: string,
): ReadonlyMap<string, { readonly device: string; readonly options: readonly string[] }> {
  const found = new Map<string, { device: string; options: readonly string[] }>();
  for (const line of table.split('\n')) {
    const [device = '', point = '', , options] = line.split(' ', 5);
    if (options !== undefined) found.set(unescaped(point.slice(0, 4096)), { device, options: options.split(',') });
  }
  return found;
}

/** Never throws. A mount point without a mount is unobservable: it may be absent on this node. */
export function judgeMounts(table: string, points: readonly string[]): Findings {
  const mounts = optionsByPoint(table);
  const faults = points.flatMap((point) => {
    const mount = mounts.get(point);
    if (mount === undefined || !mount.options.includes('ro')) return [];
    return [
      toolFinding({
        source: 'disk',
        code: 'disk/read-only',
        device: nameOf(mount.device),
        message: `${point} is mounted read-only (${mount.device.slice(0, 100)})`,
        because: 'The kernel mounts a file system read-only after errors; it is checked when the node boots.',
      }),
    ];
  });
  const unobservable = points
    .filter((point) => !mounts.has(point))
    .map((point) => ({ source: 'disk' as const, what: point, because: 'nothing is mounted there' }));
  return { faults, unobservable };
}

/** `/dev/nvme0n1p1` -> `nvme0n1p1`; undefined for what is no block device. */
const nameOf = (device: string): string | undefined => /^\/dev\/(?:mapper\/)?([\w.:-]{1,64})$/.exec(device)?.[1];

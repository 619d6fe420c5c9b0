/** Traces of a test cluster with real nodes outside of its directory, which must not remain after its end. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tagOf } from '../../testbed/real-nodes/network.ts';

export interface Traces {
  /** Processes whose command line contains the directory of the test cluster. */
  readonly processes: readonly string[];
  /** A cgroup with a process in it cannot be removed, so no cgroup means no container. */
  readonly groups: readonly string[];
  readonly links: readonly string[];
  readonly mounts: readonly string[];
  readonly loops: readonly string[];
  readonly directory: boolean;
}

export const noTraces: Traces = { processes: [], groups: [], links: [], mounts: [], loops: [], directory: false };

export function tracesOf(directory: string): Traces {
  const tag = tagOf(directory);
  const named = (text: string): boolean => text.includes(tag);
  return {
    processes: readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && named(contentOf(`/proc/${pid}/cmdline`))),
    groups: readdirSync('/sys/fs/cgroup').filter((hierarchy) =>
      existsSync(`/sys/fs/cgroup/${hierarchy}/kcover-${tag}`),
    ),
    links: readdirSync('/sys/class/net').filter(named),
    mounts: contentOf('/proc/self/mountinfo').split('\n').filter(named),
    loops: readdirSync('/sys/block').filter((device) => named(contentOf(`/sys/block/${device}/loop/backing_file`))),
    directory: existsSync(directory),
  };
}

/** Empty when the file does not exist. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** What a test cluster with real nodes has outside of its directory, and what may not be there after its end. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tagOf } from '../../testbed/real-nodes/network.ts';

export interface Traces {
  /** Whose command line names the test cluster. */
  readonly processes: readonly string[];
  /** A cgroup with a process in it cannot be removed, so none means that no container is left. */
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
    groups: readdirSync('/sys/fs/cgroup').filter((hierarchy) => existsSync(`/sys/fs/cgroup/${hierarchy}/kcover-${tag}`)),
    links: readdirSync('/sys/class/net').filter(named),
    mounts: contentOf('/proc/self/mountinfo').split('\n').filter(named),
    loops: readdirSync('/sys/block').filter((device) => named(contentOf(`/sys/block/${device}/loop/backing_file`))),
    directory: existsSync(directory),
  };
}

/** Empty when it is gone. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

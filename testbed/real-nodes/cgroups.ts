import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tagOf } from './network.ts';
import { waitAtExit } from './wait-at-exit.ts';

/** Mount points: each hierarchy of version 1, or the one of version 2, or both. */
const hierarchies = (): string[] =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .flatMap(([, directory = '', type]) => (type === 'cgroup' || type === 'cgroup2' ? [directory] : []));

const clusterGroup = (runDirectory: string): string => `kcover-${tagOf(runDirectory)}`;

/** Two kubelets below one cgroup would remove each other's pods, so each node has its own. Returns its path inside every hierarchy. */
export function createNodeGroup(runDirectory: string, node: string): string {
  const group = join(clusterGroup(runDirectory), node);
  for (const hierarchy of hierarchies()) {
    for (const path of [join(hierarchy, clusterGroup(runDirectory)), join(hierarchy, group)]) {
      mkdirSync(path, { recursive: true });
      inherit(join(path, '..'), path);
    }
  }
  return `/${group}`;
}

/** A version 1 group starts without processors and memory; a version 2 group has the controllers that its parent delegates. */
function inherit(parent: string, group: string): void {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    if (existsSync(join(parent, 'cgroup.subtree_control')) || !existsSync(join(group, file))) continue;
    writeFileSync(join(group, file), readFileSync(join(parent, file)));
  }
  const subtreeControl = join(parent, 'cgroup.subtree_control');
  if (!existsSync(subtreeControl)) return;
  const controllers = readFileSync(join(parent, 'cgroup.controllers'), 'utf8').trim().split(/\s+/).filter(Boolean);
  if (controllers.length > 0) writeFileSync(subtreeControl, controllers.map((name) => `+${name}`).join(' '));
}

/** Removes the cgroups of a test cluster; its processes are being killed, and a group with a process cannot be removed. */
export function removeGroups(runDirectory: string): void {
  const groups = hierarchies().map((hierarchy) => join(hierarchy, clusterGroup(runDirectory)));
  waitAtExit(10_000, () => groups.filter((group) => existsSync(group) && !removeTree(group)).length === 0);
}

function removeTree(group: string): boolean {
  try {
    for (const entry of readdirSync(group, { withFileTypes: true }))
      if (entry.isDirectory()) removeTree(join(group, entry.name));
    rmdirSync(group);
    return true;
  } catch {
    return false;
  }
}

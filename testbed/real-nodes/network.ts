import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { must } from '../parts/command.ts';
import { waitAtExit } from './wait-at-exit.ts';

/** The network of one test cluster: a bridge on the host, nodes on it, and a pod subnet behind each node. Removing the bridge removes all of it. */
export interface Network {
  /** The host's address on the bridge, at which nodes and pods find the API server. */
  readonly host: string;
  /** Subnet of all pods of all nodes. */
  readonly pods: string;
  addressOf(index: number): string;
  /** Subnet of the pods of one node. */
  podsOf(index: number): string;
  /** Connects the network namespace of a process, which is node `index` of `count`. */
  attach(index: number, count: number, pid: number): Promise<void>;
  /** Removes what a powered-off machine has left. */
  detach(index: number): Promise<void>;
  /** Takes the node's link down, or up again. */
  setCable(index: number, state: 'up' | 'down'): Promise<void>;
}

/** The last part of the name of a run directory: six digits that are unique to the test cluster. */
export const tagOf = (runDirectory: string): string => basename(runDirectory).slice(-6);

const bridgeOf = (runDirectory: string): string => `kcover-${tagOf(runDirectory)}`;

/** `byte` is N of 10.N.0.0/16. */
export async function createNetwork(runDirectory: string, byte: number): Promise<Network> {
  const bridge = bridgeOf(runDirectory);
  const host = `10.${byte}.0.1`;
  const addressOf = (index: number): string => `10.${byte}.0.${10 + index}`;
  const podsOf = (index: number): string => `10.${byte}.${10 + index}.0/24`;
  const cableOf = (index: number): string => `kc-${tagOf(runDirectory)}-${index}`;
  await ip('link', 'add', bridge, 'type', 'bridge');
  await ip('address', 'add', `${host}/24`, 'dev', bridge);
  await ip('link', 'set', bridge, 'up');
  return {
    host,
    pods: `10.${byte}.0.0/16`,
    addressOf,
    podsOf,
    attach: async (index, count, pid) => {
      const inside = (...args: string[]) => asRoot('nsenter', '--target', String(pid), '--net', 'ip', ...args);
      await ip(
        'link',
        'add',
        cableOf(index),
        'master',
        bridge,
        'type',
        'veth',
        'peer',
        'name',
        'eth0',
        'netns',
        String(pid),
      );
      await ip('link', 'set', cableOf(index), 'up');
      await inside('address', 'add', `${addressOf(index)}/24`, 'dev', 'eth0');
      await inside('link', 'set', 'eth0', 'up');
      await inside('route', 'add', 'default', 'via', host);
      for (let other = 0; other < count; other++)
        if (other !== index) await inside('route', 'add', podsOf(other), 'via', addressOf(other));
      await ip('route', 'replace', podsOf(index), 'via', addressOf(index));
    },
    detach: async (index) => {
      if (existsSync(`/sys/class/net/${cableOf(index)}`)) await ip('link', 'delete', cableOf(index));
    },
    setCable: async (index, state) => void (await ip('link', 'set', cableOf(index), state)),
  };
}

/** Removes the bridge of a test cluster, if it has one, and with it all routes. */
export function removeNetwork(runDirectory: string): void {
  const names = (): string[] => readdirSync('/sys/class/net');
  const cables = (): string[] => names().filter((name) => name.startsWith(`kc-${tagOf(runDirectory)}-`));
  // A link is removed with the namespace of its node, which lasts until its connections are closed, and those need the bridge.
  waitAtExit(2000, () => cables().length === 0);
  for (const name of [...cables(), ...names().filter((each) => each === bridgeOf(runDirectory))]) {
    try {
      execFileSync('ip', ['link', 'delete', name], { stdio: 'ignore' });
    } catch {
      // Another process that sweeps has just removed it.
    }
  }
}

const ip = (...args: string[]): Promise<string> => asRoot('ip', ...args);

const asRoot = (file: string, ...args: string[]): Promise<string> =>
  must(
    { file, args, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } },
    'cannot set up the network of the nodes',
    'run it by hand as root and read its error',
  );

import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '../servers/server.ts';
import type { NodeMachine } from './machine.ts';

/** The GPUs of a node, which a device plugin offers to the kubelet. */
export interface Devices {
  readonly plugin: Server;
  /** By index. The kubelet learns it within a second. */
  setHealth(device: number, health: 'Healthy' | 'Unhealthy'): void;
}

export const gpuResource = 'nvidia.com/gpu';

export function createDevices(machine: NodeMachine, count: number): Devices {
  const file = join(machine.disk, 'devices');
  const healths: string[] = Array.from({ length: count }, () => 'Healthy');
  const write = (): void => {
    writeFileSync(`${file}.new`, healths.map((health, index) => `GPU-${machine.name}-${index} ${health}\n`).join(''));
    // An atomic rename, so that the plugin never reads an incomplete list.
    renameSync(`${file}.new`, file);
  };
  write();
  return {
    plugin: machine.daemon({
      name: 'device-plugin',
      command: ['device-plugin', '-resource', gpuResource, '-devices', file],
      // It registers itself as soon as the kubelet runs.
      missing: async () => undefined,
    }),
    setHealth: (device, health) => {
      healths[device] = health;
      write();
    },
  };
}

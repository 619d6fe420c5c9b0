/** A made-up sysfs with RDMA devices, with links as the real one has them. */

import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface RdmaPort {
  readonly device: string;
  readonly port: number;
  readonly pci: string;
  readonly layer: string;
  readonly state: string;
  readonly physState: string;
}

const usual: RdmaPort = {
  device: 'mlx5_0',
  port: 1,
  pci: '0000:5d:00.0',
  layer: 'InfiniBand',
  state: '4: ACTIVE',
  physState: '5: LinkUp',
};

export type PortFile = 'state' | 'phys_state' | 'link_layer' | 'rate';

export class MadeUpSysfs {
  readonly #root: string;

  constructor(hostRoot: string) {
    this.#root = join(hostRoot, 'sys');
  }

  /** /sys of a node without an RDMA device. */
  async create(): Promise<this> {
    await mkdir(join(this.#root, 'class/net'), { recursive: true });
    return this;
  }

  /** Adds a port, and its device where that is new. */
  async add(more: Partial<RdmaPort> = {}): Promise<void> {
    const { device, port, pci, layer, state, physState } = { ...usual, ...more };
    const directory = `devices/pci0000:5c/0000:5c:01.0/${pci}/infiniband/${device}`;
    await mkdir(join(this.#root, directory, 'ports', String(port), 'counters'), { recursive: true });
    await mkdir(join(this.#root, 'class/infiniband'), { recursive: true });
    await symlink(`../../${directory}`, this.entry(device)).catch(() => undefined);
    await this.write('link_layer', layer, device, port);
    await this.write('rate', '400 Gb/sec (4X NDR)', device, port);
    await this.write('phys_state', physState, device, port);
    await this.write('state', state, device, port);
  }

  /** Path of a device in the class directory. */
  entry(device: string): string {
    return join(this.#root, 'class/infiniband', device);
  }

  file(name: PortFile, device = usual.device, port = usual.port): string {
    return join(this.entry(device), 'ports', String(port), name);
  }

  /** Replaces a file as a whole, so that no reader finds half of it. */
  async write(name: PortFile, text: string | Buffer, device = usual.device, port = usual.port): Promise<void> {
    const file = this.file(name, device, port);
    const fresh = join(dirname(file), 'counters', `${name}.new`);
    await writeFile(fresh, typeof text === 'string' ? `${text}\n` : text);
    await rename(fresh, file);
  }

  async down(device = usual.device): Promise<void> {
    await this.write('phys_state', '2: Polling', device);
    await this.write('state', '1: DOWN', device);
  }

  async up(device = usual.device): Promise<void> {
    await this.write('phys_state', '5: LinkUp', device);
    await this.write('state', '4: ACTIVE', device);
  }

  /** The device is gone, as when its card falls off the bus. */
  remove(device = usual.device): Promise<void> {
    return rm(this.entry(device));
  }
}

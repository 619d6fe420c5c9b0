/**
 * Reads the ports of RDMA devices below the host root. /sys/class/infiniband has links to the directories of the devices, which must be in /sys/devices.
 * Only what is needed is read, and nothing below `counters`: on some cards that fills the kernel log.
 */

import { join } from 'node:path';
import { KcoverError } from '../../contract/errors.ts';
import type { LinkPort } from '../../faults/link/link-fault.ts';
import { isActive, parseLinkLayer, parsePhysState, parseState, pciOf, type PortState } from '../../faults/link/port.ts';
import { becauseOf } from '../files/poller.ts';
import { listHostDirectory, readHostFile, readHostLink } from '../host-root.ts';

export interface PortReading {
  readonly port: LinkPort;
  readonly state: PortState;
}

export interface LinkReading {
  readonly ports: readonly PortReading[];
  /** Devices that have no entry any more, of those that were asked for. */
  readonly gone: ReadonlySet<string>;
  /** Why some devices could not be read. */
  readonly problems: readonly string[];
}

const classDirectory = '/sys/class';
const linksDirectory = `${classDirectory}/infiniband`;
const devicesDirectory = '/sys/devices';

/** Most bytes of one file, and most entries of one directory. A port has one line of less than 40 bytes. */
const most = { bytes: 256, devices: 256, ports: 64 } as const;

const isNotFound = (error: unknown): boolean => error instanceof KcoverError && error.code === 'not-found';
const unusable = (path: string, because: string): KcoverError => new KcoverError('refused', `${path}: ${because}`);

/** Names of devices. Throws when it cannot be known which devices there are. */
async function listDevices(hostRoot: string, wanted: (device: string) => boolean): Promise<readonly string[]> {
  const isDevice = (name: string): boolean => /^[\w.-]{1,64}$/.test(name) && wanted(name);
  try {
    const { entries, more } = await listHostDirectory(hostRoot, linksDirectory, most.devices, isDevice);
    if (more)
      throw unusable(join(hostRoot, linksDirectory), `it has more than ${most.devices} devices that the settings name`);
    return entries.map(({ name }) => name);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    // Without its driver a node has no such directory, but other classes.
    const { entries, others } = await listHostDirectory(hostRoot, classDirectory, 1, (name) =>
      linksDirectory.endsWith(`/${name}`),
    );
    if (entries.length > 0 || others === 0)
      throw unusable(join(hostRoot, classDirectory), 'it cannot be read: mount /sys of the node there');
    return [];
  }
}

async function readValue(hostRoot: string, path: string, parse: (text: string) => string | undefined): Promise<string> {
  const value = parse(await readHostFile(hostRoot, path, most.bytes));
  if (value === undefined) throw unusable(join(hostRoot, path), 'its content has an unknown form');
  return value;
}

async function readPort(hostRoot: string, device: string, directory: string, port: number): Promise<PortReading> {
  const at = `${directory}/ports/${port}`;
  const layer = await readValue(hostRoot, `${at}/link_layer`, parseLinkLayer);
  const state = await readValue(hostRoot, `${at}/state`, parseState);
  const found = { device, port, layer, pci: pciOf(directory) };
  if (isActive(state)) return { port: found, state: { kind: 'active' } };
  return {
    port: found,
    state: { kind: 'inactive', state, physState: await readValue(hostRoot, `${at}/phys_state`, parsePhysState) },
  };
}

async function readDevice(hostRoot: string, device: string): Promise<readonly PortReading[]> {
  const directory = await readHostLink(hostRoot, `${linksDirectory}/${device}`, devicesDirectory);
  const { entries, more } = await listHostDirectory(hostRoot, `${directory}/ports`, most.ports, (name) =>
    /^[1-9]\d{0,2}$/.test(name),
  );
  if (more) throw unusable(join(hostRoot, directory), `it has more than ${most.ports} ports`);
  const ports: PortReading[] = [];
  for (const { name } of entries) ports.push(await readPort(hostRoot, device, directory, Number(name)));
  return ports;
}

/** Whether a device has no entry any more; a listing may leave out an entry for other reasons. */
const isGone = (hostRoot: string, device: string): Promise<boolean> =>
  readHostLink(hostRoot, `${linksDirectory}/${device}`, devicesDirectory).then(() => false, isNotFound);

/** One file after the other: where one read hangs, another would too. `known` devices are looked for even where they are not listed. */
export async function readLinks(
  hostRoot: string,
  wanted: (device: string) => boolean,
  known: Iterable<string>,
): Promise<LinkReading> {
  const devices = await listDevices(hostRoot, wanted);
  const ports: PortReading[] = [];
  const problems: string[] = [];
  for (const device of devices) {
    try {
      ports.push(...(await readDevice(hostRoot, device)));
    } catch (error) {
      problems.push(`${device}: ${becauseOf(error)}`);
    }
  }
  const gone = new Set<string>();
  for (const device of known) {
    if (devices.includes(device)) continue;
    if (await isGone(hostRoot, device)) gone.add(device);
    else problems.push(`${device}: it is there, but not listed`);
  }
  return { ports, gone, problems };
}

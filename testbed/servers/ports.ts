import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { basename, join } from 'node:path';
import { portsDirectory } from '../run-directory.ts';

// Below the range that the kernel uses for outgoing connections, which could take a port while its server restarts.
const first = 20_000;
const last = 32_000;

const firstNetwork = 200;
const lastNetwork = 249;

/**
 * Ports of one test cluster. A port is held by a file until `release`, because between choosing it and listening on it
 * (and while its server is being restarted) another test cluster could choose the same one. Networks are held in the same way.
 */
export class Ports {
  private readonly held: number[] = [];
  private readonly holder: string;

  constructor(runDirectory: string) {
    this.holder = basename(runDirectory);
  }

  async take(): Promise<number> {
    for (let attempt = 0; attempt < 500; attempt++) {
      const port = first + Math.floor(Math.random() * (last - first));
      if (!hold(port, this.holder)) continue;
      this.held.push(port);
      if (await isFree(port, '127.0.0.1')) return port;
    }
    throw new Error(
      `cannot find a free port\n  because: 500 ports between ${first} and ${last} are taken\n  try:     stop other test clusters, or remove ${portsDirectory}`,
    );
  }

  /** The second byte of a network 10.N.0.0/16 that neither another test cluster nor this machine uses. */
  takeNetwork(): number {
    const addresses = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
    for (let byte = firstNetwork; byte <= lastNetwork; byte++) {
      if (addresses.some((address) => address.startsWith(`10.${byte}.`)) || !hold(byte, this.holder)) continue;
      this.held.push(byte);
      return byte;
    }
    throw new Error(
      `cannot find a free network\n  because: 10.${firstNetwork}.0.0 to 10.${lastNetwork}.255.255 are taken\n  try:     stop other test clusters, or remove ${portsDirectory}`,
    );
  }

  release(): void {
    for (const port of this.held.splice(0)) rmSync(join(portsDirectory, String(port)), { force: true });
  }
}

function hold(port: number, holder: string): boolean {
  try {
    writeFileSync(join(portsDirectory, String(port)), holder, { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}

/** Whether a server of this machine could listen on the port, on all addresses or on loopback alone. */
export function isFree(port: number, host?: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host }, () => server.close(() => resolve(true)));
  });
}

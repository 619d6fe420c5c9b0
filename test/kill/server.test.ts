import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { server, type Server } from '../../testbed/servers/server.ts';
import { until } from '../../testbed/until.ts';

let directory: string;
let kept: Server;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kcover-server-'));
  mkdirSync(join(directory, 'pids'));
  kept = living({});
});
afterEach(async () => {
  await kept.kill('SIGKILL');
  rmSync(directory, { recursive: true });
});

function living({ script = 'setInterval(() => undefined, 1000)', ready = () => true }): Server {
  const missing = async () => (ready() ? undefined : 'not yet');
  return server(directory, { name: 'living', program: process.execPath, args: ['-e', script], kept: true, missing });
}

const endsByItself = ({ pid = 0 }: Server): boolean => process.kill(pid, 'SIGKILL');

describe('a server that is kept', () => {
  it('is restarted when it ends by itself', async () => {
    await kept.start();
    const first = kept.pid;
    endsByItself(kept);
    await until('another process', 20_000, async () =>
      kept.pid !== undefined && kept.pid !== first ? { found: true } : { missing: 'a new pid' },
    );
  });

  it('stays down after it was killed by its owner, until it is started', async () => {
    await kept.start();
    await kept.kill('SIGKILL');
    await sleep(700);
    expect(kept.pid).toBeUndefined();
    await kept.start();
    expect(kept.pid).toBeDefined();
  });

  it('fails at once when it ends before it was ever ready', async () => {
    kept = living({ script: 'process.exit(3)', ready: () => false });
    await expect(kept.start()).rejects.toThrow(/it ended \(code 3\)/);
  });
});

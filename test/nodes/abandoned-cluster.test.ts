import { describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { sweep } from '../../testbed/run-directory.ts';
import { until } from '../../testbed/until.ts';
import { noTraces, tracesOf } from './traces.ts';

describe('a test cluster with a real node whose owner was killed', () => {
  it('is removed by the process that starts the next one, with its containers, network and mounts', async () => {
    const owner = spawn(process.execPath, [join(import.meta.dirname, 'abandoned-cluster.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await once(owner.stdout, 'data')) as [Buffer];
    const directory = said.toString().trim();
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    expect(tracesOf(directory)).toMatchObject({
      groups: expect.arrayContaining(['memory']),
      loops: [expect.anything()],
      directory: true,
    });

    // A test cluster that starts meanwhile sweeps too, and may be the one that finds it.
    await sweep();
    await until('nothing left', 30_000, async () => {
      const left = tracesOf(directory);
      return JSON.stringify(left) === JSON.stringify(noTraces) ? { found: true } : { missing: JSON.stringify(left) };
    });
  });
});

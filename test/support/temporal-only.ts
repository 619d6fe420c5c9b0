/** A Temporal server and the bundled workflows, for tests that need no cluster. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleWorkflows } from '../../testbed/bundle.ts';
import { endOf, stopOnSignals } from '../../testbed/ending.ts';
import { obtainPrograms } from '../../testbed/parts/programs.ts';
import type { OnProgress } from '../../testbed/parts/cache.ts';
import { createRunDirectory, sweep } from '../../testbed/run-directory.ts';
import { Ports } from '../../testbed/servers/ports.ts';
import { temporal } from '../../testbed/servers/temporal.ts';
import type { TestServers } from './rig.ts';

/** Starts both and points KCOVER_TEST_CLUSTER at them; resolves with a function that ends them. */
export async function startTemporalOnly(onProgress: OnProgress): Promise<() => Promise<void>> {
  const programs = await obtainPrograms(onProgress);
  await sweep();
  const directory = createRunDirectory();
  const ports = new Ports(directory);
  const stop = endOf(directory, ports, false);
  stopOnSignals({ stop });
  try {
    const [port, uiPort, httpPort, metricsPort] = [
      await ports.take(),
      await ports.take(),
      await ports.take(),
      await ports.take(),
    ];
    const [workflowBundle] = await Promise.all([
      bundleWorkflows(join(directory, 'workflows.js')),
      temporal({
        program: programs.temporal,
        directory,
        port,
        uiPort,
        httpPort,
        metricsPort,
        dynamicConfig: {},
      }).start(),
    ]);
    const file = join(directory, 'test-cluster.json');
    writeFileSync(file, JSON.stringify({ temporalAddress: `127.0.0.1:${port}`, workflowBundle } satisfies TestServers));
    process.env['KCOVER_TEST_CLUSTER'] = file;
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

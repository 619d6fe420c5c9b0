import { join } from 'node:path';
import { writeWorld } from '../../testbed/attach.ts';
import { obtainJobControllers, startJobControllers } from '../../testbed/job-controllers.ts';
import { endOwnWorlds } from '../../testbed/run-directory.ts';
import { startWorld, stopOnSignals, type World } from '../../testbed/world.ts';

/** A world with the real controllers of further kinds of jobs, which take minutes to build at first. */
export default async function start(): Promise<void> {
  const onProgress = (line: string): void => console.error(line);
  const controllers = await obtainJobControllers(onProgress);
  const world = await startWorld({ nodes: 4, onProgress });
  stopOnSignals(world);
  process.once('exit', endOwnWorlds);
  (globalThis as { world?: World }).world = world;
  process.once('exit', await startJobControllers(world, controllers));
  const file = join(world.directory, 'world.json');
  writeWorld(file, world, { kubeconfig: world.kubernetes.kubeconfig });
  process.env['KCOVER_TEST_WORLD'] = file;
}

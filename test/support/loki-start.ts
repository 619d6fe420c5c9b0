import { lokiProgram } from '../../testbed/parts/loki.ts';
import { readEnvironment } from '../../testbed/parts/environment.ts';
import { endOwnTestClusters, sweep } from '../../testbed/run-directory.ts';

/** Builds Loki, which takes minutes the first time; the tests start it. */
export default async function start(): Promise<void> {
  process.env['KCOVER_TEST_LOKI'] = await lokiProgram(readEnvironment(), (line) => console.error(line));
  await sweep();
  process.once('exit', endOwnTestClusters);
}

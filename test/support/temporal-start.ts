import { endOwnTestClusters } from '../../testbed/run-directory.ts';
import { startTemporalOnly } from './temporal-only.ts';

/** For tests that need Temporal and no cluster, and for those that break a cluster of their own. */
export default async function start(): Promise<void> {
  process.once('exit', endOwnTestClusters);
  (globalThis as { stopTemporal?: () => Promise<void> }).stopTemporal = await startTemporalOnly((line) =>
    console.error(line),
  );
}

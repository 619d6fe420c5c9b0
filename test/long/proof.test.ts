import type { KubernetesObject } from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { annotations } from '../../contract/ids.ts';
import type { EvidenceFile } from '../../contract/recovery/evidence.ts';
import { type Progress, progressDirectory } from '../../contract/progress/progress.ts';
import { statusQuery } from '../../contract/wire/messages.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu } from '../../testbed/failures.ts';
import { placeOf, podsOf } from '../../testbed/jobs.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { until } from '../../testbed/until.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, quick, xid79 } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    workerSettings: quick,
  });
});
afterEach(() => live?.clear(), 120_000);
afterAll(() => live?.close(), 120_000);

/** Writes the file as a trainer of rank 0 on this node does. */
function writeProgressFile(job: LiveJob, node: SimulatedNode, progress: Omit<Progress, 'at'>): void {
  const directory = join(node.hostRoot, progressDirectory, job.namespace);
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `${job.name}-0.json`);
  writeFileSync(`${file}.part`, JSON.stringify({ ...progress, at: new Date().toISOString() }));
  renameSync(`${file}.part`, file);
}

async function stepOf(job: LiveJob): Promise<string | undefined> {
  const object: KubernetesObject = await live.cluster.api.custom.getNamespacedCustomObject(placeOf(job));
  return object.metadata?.annotations?.[annotations.step];
}

async function phaseOf(job: LiveJob): Promise<RecoveryStatus['phase'] | undefined> {
  const { incident } = await live.status(job);
  if (incident === undefined) return undefined;
  const { phase } = await live.temporal.withDeadline(Date.now() + 5000, () =>
    live.temporal.workflow.getHandle(incident).query<RecoveryStatus>(statusQuery),
  );
  return phase;
}

/** The pod of rank 0 that runs now, and its node. */
async function rankZero(job: LiveJob): Promise<SimulatedNode> {
  const pods = (await podsOf(live.cluster.api, job)).filter(
    ({ metadata }) => metadata?.deletionTimestamp === undefined,
  );
  const pod =
    pods.find(({ metadata }) => metadata?.name?.endsWith('-master-0')) ??
    pods.find(({ metadata }) => metadata?.name?.endsWith('-0'));
  const node = live.cluster.nodes.find(({ name }) => name === pod?.spec?.nodeName);
  if (!node) throw new Error(`${job.name} has no rank 0 on a node`);
  return node;
}

/** Repeats the report, as a trainer does, until the job has it. */
const trained = (job: LiveJob, node: SimulatedNode, progress: Omit<Progress, 'at'>) =>
  until(`step ${progress.step} on the job`, 60_000, async () => {
    writeProgressFile(job, node, progress);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return (await stepOf(job)) === String(progress.step) ? { found: true } : { missing: `step ${await stepOf(job)}` };
  });

describe('a job that reports its training progress', () => {
  it('is recovered when training passes the last step before the fault, and the logs of its ranks are kept', async () => {
    const job = await live.pytorch();
    const first = await rankZero(job);
    const last = job.nodes.find(({ name }) => name !== first.name);
    if (!last) throw new Error('no second node');
    await trained(job, first, { step: 1200, checkpointStep: 1100, phase: 'training' });
    await breakGpu(last, xid79);

    await until(`${job.name} waits for verification`, 120_000, async () => {
      const phase = await phaseOf(job).catch(() => undefined);
      return phase === 'verifying' ? { found: phase } : { missing: `phase ${phase}` };
    });
    const node = await rankZero(job);
    await trained(job, node, { step: 1105, checkpointStep: 1100, phase: 'training' });
    expect(live.records(job)).toEqual([]);
    await trained(job, node, { step: 1201, checkpointStep: 1200, phase: 'training' });
    let step = 1202;
    const training = setInterval(
      () => writeProgressFile(job, node, { step: step++, checkpointStep: 1200, phase: 'training' }),
      1000,
    );

    const [record] = await live.settled(job).finally(() => clearInterval(training));
    expect(violations(await live.facts(job))).toEqual([]);
    expect(record).toMatchObject({ outcome: 'recovered', progress: { before: { step: 1200, checkpointStep: 1100 } } });
    expect(record?.progress?.after?.step).toBeGreaterThanOrEqual(1201);
    const [evidence] = record?.evidence ?? [];
    expect(evidence).toMatchObject({ attempt: 1, ranks: job.pods, of: job.pods });
    const index = JSON.parse(readFileSync(join(evidence?.address ?? '', 'index.json'), 'utf8')) as EvidenceFile[];
    expect(new Set(index.filter(({ what }) => what === 'log').map(({ pod }) => pod)).size).toBe(job.pods);
  });
});

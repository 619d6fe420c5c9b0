import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jobWorkflowId, nodeWorkflowId } from '../../contract/ids.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import type { IncidentSummary } from '../../cli/incidents/incident.ts';
import { kernelFault } from '../support/builders.ts';
import { eventually } from '../support/rig.ts';
import { kcover } from './kcover.ts';
import { answerOf, type SimulatedCluster, simulatedCluster, serverEnvironment } from './live.ts';

let fixture: SimulatedCluster;
let recovery: string;

const ofJob = () => ['--job', jobTitle(fixture.cluster.job), '-n', fixture.cluster.job.namespace];
const list = async (...args: string[]): Promise<IncidentSummary[]> => (await answerOf<IncidentSummary[]>(args)).data;

/** Visibility is written a moment after the history. */
const listed = (
  args: readonly string[],
  ok: (found: readonly IncidentSummary[]) => boolean,
): Promise<IncidentSummary[]> => eventually(() => list(...args), ok, 60_000);
const own = (found: readonly IncidentSummary[]): IncidentSummary[] =>
  found.filter(({ incident }) => incident.includes(fixture.cluster.job.uid) || incident.includes(fixture.node));

async function quarantine(): Promise<void> {
  const handle = await fixture.rig.client.workflow.signalWithStart('nodeQuarantine', {
    workflowId: nodeWorkflowId(fixture.node),
    taskQueue: fixture.rig.taskQueue,
    args: [{ node: fixture.node }],
    signal: 'quarantine',
    signalArgs: [{ by: 'ada', reason: 'fan is loud' }],
  });
  await eventually(
    () => handle.query<NodeStatus>('status'),
    ({ phase }) => phase === 'quarantined',
  );
}

async function release(reason: string): Promise<void> {
  const handle = fixture.rig.client.workflow.getHandle(nodeWorkflowId(fixture.node));
  await handle.executeUpdate('release', { args: [{ by: 'bob', reason }] });
  await handle.result();
}

beforeAll(async () => {
  fixture = await simulatedCluster();
  const { rig, cluster } = fixture;
  const handle = await rig.client.workflow.start('trainingJob', {
    workflowId: jobWorkflowId(cluster.job),
    taskQueue: rig.taskQueue,
    args: [{ job: cluster.job }],
  });
  await handle.signal('faultsObserved', { faults: [cluster.quarantined(kernelFault({ node: 'gpu-1' }))] });
  recovery = await eventually(
    () =>
      handle
        .query<{ readonly last?: { readonly incident: string } }>('status')
        .then(({ last }) => last?.incident ?? ''),
    (incident) => incident !== '',
    60_000,
  );
  cluster.view = null;
  await handle.signal('jobObserved', { change: 'gone' });
  await quarantine();
  await release('fan replaced');
  await quarantine();
});

afterAll(async () => {
  if (!fixture) return;
  await release('the test is over').catch(() => undefined);
  await fixture.close();
});

describe('kcover report', () => {
  it('reads from Temporal what a recovery wrote at its end', async () => {
    const { data } = await answerOf<{ record: IncidentRecord }>(['report', recovery]);
    expect(data.record).toMatchObject({
      schema: 1,
      incident: recovery,
      outcome: 'restarted',
      job: fixture.cluster.job,
    });
  });

  it('exits with 4 for an unknown recovery', async () => {
    const ran = await kcover(['report', `${recovery}9`, '--records', fixture.records], '', serverEnvironment());
    expect(ran).toMatchObject({ code: 4, stderr: expect.stringContaining('there is no record of') });
  });
});

describe('kcover incidents', () => {
  it('lists the job of a recovery, how it ended and why', async () => {
    const found = own(
      await listed(['incidents', ...ofJob()], (all) => own(all).some(({ outcome }) => outcome === 'restarted')),
    );
    expect(found).toEqual([
      expect.objectContaining({
        incident: recovery,
        kind: 'recovery',
        about: jobTitle(fixture.cluster.job),
        nodes: ['gpu-1'],
        outcome: 'restarted',
        because: expect.stringContaining('all 4 pods run again'),
        endedAt: expect.any(String),
      }),
    ]);
  });

  it('lists open and closed quarantines too, and filters by node', async () => {
    const found = own(await listed(['incidents', '--node', fixture.node], (all) => own(all).length === 2));
    expect(found.map(({ kind, about, outcome, by }) => ({ kind, about, outcome, by }))).toEqual([
      { kind: 'quarantine', about: fixture.node, outcome: 'open', by: 'ada' },
      { kind: 'quarantine', about: fixture.node, outcome: 'released', by: 'ada' },
    ]);
  });

  it('reads from the records what Temporal no longer has', async () => {
    const { client } = fixture.rig;
    await client.workflowService.deleteWorkflowExecution({
      namespace: client.options.namespace,
      workflowExecution: { workflowId: recovery },
    });
    await listed(['incidents', ...ofJob()], (all) => own(all).length === 0);
    const found = own(await list('incidents', ...ofJob(), '--records', fixture.records));
    expect(found).toEqual([expect.objectContaining({ incident: recovery, outcome: 'restarted', nodes: ['gpu-1'] })]);
  });
});

describe('kcover node history', () => {
  it('lists who requested each quarantine, how long it lasted and who released the node', async () => {
    const found = await listed(['node', 'history', fixture.node], (all) => all.length === 2);
    expect(found).toEqual([
      expect.objectContaining({ outcome: 'open', endedAt: null, because: expect.stringContaining('fan is loud') }),
      expect.objectContaining({
        outcome: 'released',
        by: 'ada',
        endedBecause: 'bob: fan replaced',
        lastedMs: expect.any(Number),
      }),
    ]);
  });
});

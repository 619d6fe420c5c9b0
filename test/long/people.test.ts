/** Pause, plan, approve and deny, run against real servers with a simulated cluster behind the worker. */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { startWorkflow } from '../../cli/clients/start-workflow.ts';
import type { PlanInput } from '../../cli/plan/facts.ts';
import type { PlanReport } from '../../cli/plan/plan.ts';
import { labels } from '../../contract/ids.ts';
import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { jobStart, nodeStart } from '../../contract/wire/starts.ts';
import type { JobStatus } from '../../contract/job/training-job.ts';
import { connect } from '../../testbed/api.ts';
import { batchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob, placeOf, type RunningJob } from '../../testbed/jobs.ts';
import { jobView, kernelFault, nodeView, settings } from '../support/builders.ts';
import { eventually, testServers, type TestServers } from '../support/rig.ts';
import { kcover } from '../cli/kcover.ts';
import { answerOf, type SimulatedCluster, simulatedCluster, serverEnvironment } from '../cli/live.ts';

const api = () => connect(testServers<TestServers & { readonly kubeconfig: string }>().kubeconfig);
const patience = 60_000;

let fixture: SimulatedCluster;
let running: RunningJob;
let node: string;
let podThere: string;
let directory: string;
let handle: WorkflowHandle;

const ask = (...args: readonly string[]) => kcover(args, '', serverEnvironment());
const ofJob = () => [jobTitle(running), '-n', running.namespace];
const plan = async (...more: readonly string[]) =>
  (await answerOf<PlanReport & { readonly facts: PlanInput }>(['plan', ...ofJob(), ...more])).data;
const status = () => handle.query<JobStatus>('status');
const fault = (sequence: number) =>
  kernelFault({ id: `kernel/boot-1/${sequence}`, node: `gpu-${sequence}`, kernel: { bootId: 'boot-1', sequence } });
const signalFault = (sequence: number) =>
  handle.signal('faultsObserved', { faults: [fixture.cluster.quarantined(fault(sequence))] });

/** Id of the recovery that waits for approval. */
async function asking(): Promise<string> {
  const { incident = '' } = await eventually(status, (seen) => seen.incident !== undefined, patience);
  const recovery = fixture.rig.client.workflow.getHandle(incident);
  await eventually(
    () => recovery.query<RecoveryStatus>('status'),
    ({ phase }) => phase === 'waiting for approval',
    patience,
  );
  return incident;
}

const lastOutcome = (incident: string) =>
  eventually(status, ({ last }) => last?.incident === incident, patience).then(({ last }) => last?.outcome);

beforeAll(async () => {
  fixture = await simulatedCluster();
  const { cluster, rig } = fixture;
  directory = mkdtempSync(join(tmpdir(), 'kcover-people-'));
  writeFileSync(join(directory, 'act.yaml'), 'mode: act\n');
  running = await createJob(
    api(),
    batchJob({
      name: `people-${randomUUID().slice(0, 8)}`,
      pods: 2,
      gpus: 0,
      labels: { [labels.cascadingRecovery]: 'true' },
    }),
  );
  const [pod] = await awaitRunning(api(), running);
  node = pod?.spec?.nodeName ?? '';
  podThere = pod?.metadata?.name ?? '';
  const { kind, namespace, name, uid } = running;
  const job: JobRef = { kind, namespace, name, uid };
  cluster.view = jobView({ ref: job, gpus: 8 });
  cluster.settings = settings({
    mode: 'act',
    recovery: { approval: { dead: 8, degrading: 8, slow: 8 }, budget: { backoff: { first: '1ms' } } },
  });
  handle = rig.client.workflow.getHandle(await startWorkflow(rig.client, jobStart(job, rig.taskQueue)));
});

afterAll(async () => {
  if (!fixture) return;
  fixture.cluster.view = null;
  await handle?.signal('jobObserved', { change: 'gone' });
  if (running)
    await api().custom.deleteNamespacedCustomObject({ ...placeOf(running), propagationPolicy: 'Background' });
  await fixture.close();
  rmSync(directory, { recursive: true });
}, patience);

describe('people and a recovery', () => {
  it('cannot answer without an open recovery', async () => {
    const { code, stderr } = await ask('approve', ...ofJob(), '--reason', 'why not');
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: expect.stringContaining(`no recovery of ${jobTitle(running)} in ${running.namespace} is open`),
    });
  });

  it('see in the plan what a fault of a node would lead to, and nothing of it is done', async () => {
    const made = await plan('--fault', 'xid/79', '--node', node, '--config', join(directory, 'act.yaml'));
    expect(made).toMatchObject({
      does: 'stops',
      decisions: { node: { kind: 'quarantine' }, incident: { kind: 'open' }, capacity: { kind: 'go' } },
    });
    expect(made.facts.capacity).toMatchObject({ needed: 2 });
    const [observed, unreachable] = [
      await plan('--fault', 'operator/recover'),
      await ask('plan', ...ofJob(), '--fault', 'xid/79'),
    ];
    expect(observed).toMatchObject({ does: 'stops' });
    expect(unreachable).toMatchObject({ code: 2, stderr: expect.stringContaining('xid/79 needs --node') });
    expect((await status()).phase).toBe('watching');
  });

  it('see in the plan the fault of a node behind a pod that failed there', async () => {
    const { cluster, rig } = fixture;
    cluster.nodes.set(node, nodeView({ name: node, uid: `uid-${node}`, systemUuid: `machine-${node}` }));
    // After the creation of the pod whose failure is assumed.
    const seenAt = new Date(Date.now() + 3_600_000).toISOString();
    const { workflowType, ...start } = nodeStart(node, rig.taskQueue);
    // Another test may have left one, on a task queue without a worker.
    await rig.client.workflow
      .getHandle(start.workflowId)
      .terminate('another test')
      .catch(() => undefined);
    const quarantine = await rig.client.workflow.signalWithStart(workflowType, {
      taskQueue: start.taskQueue,
      workflowId: start.workflowId,
      args: [{ node }],
      signal: 'faultsObserved',
      signalArgs: [{ faults: [kernelFault({ node, seenAt })] }],
    });
    await eventually(
      () => quarantine.query<NodeStatus>('status'),
      ({ phase }) => phase === 'quarantined',
      patience,
    );
    const made = await plan('--fault', 'pod/exit', '--pod', podThere, '--config', join(directory, 'act.yaml'));
    await quarantine.terminate('end of the test');
    expect(made.facts.known.found).toMatchObject([{ code: 'xid/79', node, quarantine: { state: 'quarantined' } }]);
    // The Node object itself has no taint: the node's workflow works on a simulated cluster.
    expect(made).toMatchObject({
      does: 'holds',
      because: expect.stringContaining(`${node} is not quarantined`),
      decisions: { incident: { kind: 'open', because: expect.stringContaining('xid/79') } },
    });
  });

  it('see in the plan what could not be read without Temporal', async () => {
    const { code, data } = await answerOf<PlanReport & { readonly facts: PlanInput }>(
      ['plan', ...ofJob()],
      serverEnvironment({ TEMPORAL_ADDRESS: '127.0.0.1:1' }),
    );
    expect({ code, does: data.does }).toEqual({ code: 0, does: 'nothing' });
    expect(data.facts.unseen).toEqual([
      expect.stringContaining('pending faults'),
      expect.stringContaining('whether kcover is paused'),
    ]);
  });

  it('pause a job, see what waits, resume it and approve its recovery', async () => {
    const paused = await answerOf(['pause', ...ofJob(), '--reason', 'by hand']);
    expect(paused.data).toMatchObject({ paused: { by: 'ada', reason: 'by hand' } });
    await signalFault(1);
    await eventually(status, ({ phase }) => phase === 'paused', patience);
    expect(await plan()).toMatchObject({
      does: 'holds',
      because: expect.stringContaining('paused by ada: by hand'),
      facts: { known: { fresh: [{ id: fault(1).id }] } },
    });

    expect((await answerOf(['resume', ...ofJob()])).data).toMatchObject({ wasPaused: true });
    const incident = await asking();
    expect((await ask('status', ...ofJob())).stdout).toContain(`kcover approve ${ofJob().join(' ')} --question stop@`);
    // Visibility is written a moment after the history.
    await eventually(
      () => ask('list', '-n', running.namespace),
      ({ stdout }) =>
        stdout.split('\n').some((line) => line.includes(incident) && line.includes('recovering: waiting for approval')),
      patience,
    );
    expect((await plan()).facts.known.open).toEqual({ incident, stops: 0, attempts: 3, asked: false });

    const { question } = await fixture.rig.client.workflow.getHandle(incident).query<RecoveryStatus>('status');
    const { data } = await answerOf(['approve', ...ofJob(), '--reason', 'agreed']);
    expect(data).toEqual({ incident, approved: true, question, by: 'ada', reason: 'agreed' });
    expect(await lastOutcome(incident)).toBe('restarted');
    expect((await plan()).facts.known).toMatchObject({ fresh: [], usage: [{ incident, blame: 'hardware' }] });
  }, 300_000);

  it('deny a recovery, and nothing is stopped', async () => {
    const stopped = fixture.cluster.stopped.length;
    await signalFault(2);
    const incident = await asking();
    const earlier = 'stop@2026-11-21T07:09:03.204Z';
    expect(await ask('deny', incident, '--question', earlier, '--reason', 'not now')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(
        `the recovery does not wait for this answer\n  because: ${earlier} is not open: the open question is stop@`,
      ),
    });
    const { code, stdout } = await ask('deny', incident, '--reason', 'not now');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /asked +.*an approval is needed from 8 GPUs on\n.*question +stop@.*\n.*\n.*denied +by ada: not now/,
      ),
    });
    expect(await lastOutcome(incident)).toBe('refused');
    expect(fixture.cluster.stopped).toHaveLength(stopped);
    expect(await ask('approve', incident, '--reason', 'too late')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`no recovery ${incident} is open`),
    });
  }, 300_000);

  it('cannot answer a recovery that waits for no approval', async () => {
    fixture.cluster.unobservable = 'the network is down';
    const { data } = await answerOf<{ readonly incident: string }>(['recover', ...ofJob(), '--reason', 'hangs']);
    const refused = await eventually(
      () => ask('deny', data.incident, '--reason', 'no'),
      ({ code }) => code === 3,
      patience,
    );
    expect(refused.stderr).toContain(
      'error[refused]: the recovery does not wait for this answer\n  because: no question is open',
    );
    fixture.cluster.unobservable = undefined;
    await lastOutcome(data.incident);
  }, 300_000);
});

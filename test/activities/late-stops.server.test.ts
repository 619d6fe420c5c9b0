import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterWorkflowId, jobWorkflowId, labels } from '../../contract/ids.ts';
import type { JobRef, StopMethod } from '../../contract/job/jobs.ts';
import { updates } from '../../contract/wire/messages.ts';
import type { StopRequest, StopResult } from '../../contract/recovery/recovery.ts';
import { clusterUid } from '../../kube/client/connection.ts';
import { jobPath } from '../../kube/jobs/kinds/index.ts';
import { podsOfJob } from '../../kube/pods/pods.ts';
import { askKube } from '../../kube/client/requests.ts';
import { pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob } from '../../testbed/jobs.ts';
import { FakeCluster } from '../support/fake-cluster.ts';
import { eventually, startRig } from '../support/rig.ts';
import { liveCluster, type LiveCluster } from './live-cluster.ts';

let cluster: LiveCluster;
const tidyUps: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  cluster = await liveCluster();
});
afterAll(async () => {
  for (const tidyUp of tidyUps) await tidyUp().catch(() => undefined);
  await cluster.close();
});

const incident = 'recovery/default/x/1/2026-11-21T07:09:03.117Z';
const operator = { by: 'ada', reason: 'the network is broken' };

/** A job whose pods run, and a request to stop all of them, which expires after two seconds. */
async function running(by: StopMethod = 'suspend'): Promise<StopRequest> {
  const name = `late-${randomUUID().slice(0, 8)}`;
  const created = await createJob(
    cluster.api,
    pytorchJob({ name, workers: 1, gpus: 0, labels: { [labels.cascadingRecovery]: 'true' }, terminationSeconds: 1 }),
  );
  const job: JobRef = { kind: created.kind, namespace: created.namespace, name, uid: created.uid };
  tidyUps.unshift(() =>
    askKube(
      cluster.kube,
      { method: 'DELETE', path: jobPath(job), query: { propagationPolicy: 'Background' } },
      'tidy up',
    ),
  );
  await awaitRunning(cluster.api, created);
  const seen = await cluster.run('observeAttempt', { job, nodes: [] });
  return {
    incident,
    attempt: 1,
    job,
    by,
    resourceVersion: seen.job?.resourceVersion ?? '',
    pods: seen.pods,
    because: 'a test asks',
    deadlineMs: 2000,
  };
}

const start = (taskQueue: string, request: StopRequest) =>
  cluster.client.activity.start<StopResult>('stopAttempt', {
    id: `stop-${randomUUID()}`,
    taskQueue,
    args: [request],
    startToCloseTimeout: '60s',
    heartbeatTimeout: '20s',
    retry: { initialInterval: '200ms' },
  });

/** The answer of a worker that starts when the request is three seconds old. */
async function startLate(request: StopRequest): Promise<StopResult> {
  const taskQueue = `late-${randomUUID()}`;
  const handle = await start(taskQueue, request);
  await sleep(3000);
  const worker = await liveCluster({ taskQueue });
  try {
    return await handle.result();
  } finally {
    await worker.close();
  }
}

async function isUntouched({ job, pods }: StopRequest): Promise<boolean> {
  const { present } = await podsOfJob(cluster.kube, job);
  const view = await cluster.run('observeJob', { job });
  return view?.suspension === undefined && present.map(({ uid }) => uid).join() === pods.map(({ uid }) => uid).join();
}

/** Makes the API server refuse what the policy matches; resolves with a function that removes the policy. */
async function refuse(name: string, spec: object): Promise<() => Promise<unknown>> {
  const admission = '/apis/admissionregistration.k8s.io/v1';
  const policy = `refuse-${name}`;
  const make = (path: string, made: object) => {
    const text = JSON.stringify({ metadata: { name: policy }, spec: made });
    return askKube(
      cluster.kube,
      { method: 'POST', path: `${admission}/${path}`, body: { contentType: 'application/json', text } },
      'make a policy',
    );
  };
  await make('validatingadmissionpolicies', spec);
  await make('validatingadmissionpolicybindings', { policyName: policy, validationActions: ['Deny'] });
  const remove = (path: string) =>
    askKube(cluster.kube, { method: 'DELETE', path: `${admission}/${path}/${policy}` }, 'remove a policy');
  const lift = () => Promise.all([remove('validatingadmissionpolicybindings'), remove('validatingadmissionpolicies')]);
  tidyUps.unshift(lift);
  return lift;
}

/** Refuses the deletion of this pod, also in a collection. */
async function keepPod(name: string): Promise<void> {
  await refuse(name, {
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['pods'] }],
    },
    matchConditions: [{ name: 'pod', expression: `oldObject != null && oldObject.metadata.name == '${name}'` }],
    validations: [{ expression: 'false', message: 'nobody deletes this pod', reason: 'Forbidden' }],
  });
  await eventually(
    () =>
      askKube(
        cluster.kube,
        { method: 'DELETE', path: `/api/v1/namespaces/default/pods/${name}`, query: { dryRun: 'All' } },
        'try',
      ).then(() => 'allowed', String),
    (answer) => answer !== 'allowed',
  );
}

/** Refuses every change of `spec` of this job, with this reason. */
async function refuseChanges(
  { name, namespace }: JobRef,
  reason: 'Forbidden' | 'Invalid',
): Promise<() => Promise<unknown>> {
  const lift = await refuse(name, {
    matchConstraints: {
      resourceRules: [
        { apiGroups: ['kubeflow.org'], apiVersions: ['*'], operations: ['UPDATE'], resources: ['pytorchjobs'] },
      ],
    },
    matchConditions: [{ name: 'job', expression: `request.name == '${name}'` }],
    validations: [{ expression: 'object.spec == oldObject.spec', message: 'nobody changes this job', reason }],
  });
  const path = `/apis/kubeflow.org/v1/namespaces/${namespace}/pytorchjobs/${name}`;
  const change = JSON.stringify({ spec: { runPolicy: { ttlSecondsAfterFinished: 7 } } });
  const body = { contentType: 'application/merge-patch+json', text: change };
  await eventually(
    () =>
      askKube(cluster.kube, { method: 'PATCH', path, query: { dryRun: 'All' }, body }, 'try').then(
        () => 'allowed',
        String,
      ),
    (answer) => answer !== 'allowed',
  );
  return lift;
}

describe('a stop that was decided a while ago', () => {
  it.each<StopMethod>(['suspend', 'delete-collection'])('by %s is not sent any more', async (by) => {
    const request = await running(by);
    expect(await startLate(request)).toMatchObject({
      kind: 'unsent',
      because: expect.stringMatching(/^decided \ds ago and could not be sent: no worker/),
    });
    expect(await isUntouched(request)).toBe(true);
  });

  it('is finished where an earlier try has sent it', async () => {
    const request = await running();
    await cluster.run('stopAttempt', { ...request, deadlineMs: 30_000 });
    expect(await startLate(request)).toMatchObject({ kind: 'stopped', requests: 0 });
    expect(await cluster.run('resumeJob', { job: request.job, incident })).toEqual({ resumed: true });
  });
});

describe('a stop that the API server refuses', () => {
  it('is not sent late when it would be allowed again, and says why', async () => {
    const request = await running();
    const lift = await refuseChanges(request.job, 'Forbidden');
    expect(await cluster.run('stopAttempt', request)).toMatchObject({
      kind: 'unsent',
      because: expect.stringMatching(/^decided \ds ago and could not be sent: suspend .*403.*nobody changes this job/),
    });
    await lift();
    expect(await isUntouched(request)).toBe(true);
  });

  it('is not tried again once kcover is paused', async () => {
    const rig = await startRig(new FakeCluster().activities());
    const request = await running();
    try {
      const paused = await rig.client.workflow.start('cluster', {
        workflowId: clusterWorkflowId,
        taskQueue: rig.taskQueue,
        args: [{ clusterUid: await clusterUid(cluster.kube) }],
        workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      });
      await paused.executeUpdate(updates.pause, { args: [operator] });
      await refuseChanges(request.job, 'Forbidden');
      const result = await cluster.run('stopAttempt', { ...request, deadlineMs: 30_000 });
      expect(result).toEqual({ kind: 'unsent', because: 'paused by ada: the network is broken' });
      await paused.executeUpdate(updates.resume, { args: [operator] });
      await paused.terminate();
    } finally {
      await rig.close();
    }
  });
});

describe('a stop of which the API server refuses a part', () => {
  it('ends at its deadline, and names the pods left', async () => {
    const request = await running('delete-collection');
    const kept = `${request.job.name}-worker-0`;
    await keepPod(kept);
    expect(await cluster.run('stopAttempt', { ...request, deadlineMs: 5000 })).toMatchObject({
      kind: 'timed-out',
      left: expect.arrayContaining([kept]),
    });
  });
});

describe('a stop of a job that is paused alone', () => {
  it('is not tried again', async () => {
    const rig = await startRig(new FakeCluster().activities());
    const request = await running();
    try {
      const paused = await rig.client.workflow.start('trainingJob', {
        workflowId: jobWorkflowId(request.job),
        taskQueue: rig.taskQueue,
        args: [{ job: request.job }],
      });
      await paused.executeUpdate(updates.pause, { args: [operator] });
      await refuseChanges(request.job, 'Forbidden');
      const result = await cluster.run('stopAttempt', { ...request, deadlineMs: 30_000 });
      expect(result).toEqual({ kind: 'unsent', because: 'paused by ada: the network is broken' });
      expect(await isUntouched(request)).toBe(true);
      await paused.terminate();
    } finally {
      await rig.close();
    }
  });
});

describe('in mode observe', () => {
  it('a stop that other settings decided is not sent, and one that a person asked for is', async () => {
    const observing = await liveCluster({ mode: 'observe' });
    const request = { ...(await running()), deadlineMs: 30_000 };
    try {
      expect(await observing.run('stopAttempt', request)).toEqual({ kind: 'unsent', because: 'mode is observe' });
      expect(await isUntouched(request)).toBe(true);
      expect(await observing.run('stopAttempt', { ...request, asked: true })).toMatchObject({ kind: 'stopped' });
      expect(await observing.run('resumeJob', { job: request.job, incident })).toEqual({ resumed: true });
    } finally {
      await observing.close();
    }
  });
});

describe('a job that kcover has suspended', () => {
  it('is resumed as soon as that is not refused any more, whatever the refusal is called', async () => {
    const request = { ...(await running()), deadlineMs: 30_000 };
    await cluster.run('stopAttempt', request);
    const lift = await refuseChanges(request.job, 'Invalid');
    const resuming = await cluster.client.activity.start<{ resumed: boolean }>('resumeJob', {
      id: `resume-${randomUUID()}`,
      taskQueue: cluster.taskQueue,
      args: [{ job: request.job, incident }],
      startToCloseTimeout: '20s',
      retry: { initialInterval: '200ms', maximumInterval: '1s' },
    });
    await eventually(
      () => resuming.describe(),
      ({ attempt }) => attempt > 1,
    );
    await lift();
    expect(await resuming.result()).toEqual({ resumed: true });
    expect((await cluster.run('observeJob', { job: request.job }))?.suspension).toBeUndefined();
  });
});

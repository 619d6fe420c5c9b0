import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1Node, V1Taint } from '@kubernetes/client-node';
import { annotations, labels, recoveryWithoutUid } from '../../../contract/ids.ts';
import type { JobRef } from '../../../contract/job/jobs.ts';
import { jobPath } from '../../../kube/jobs/kinds/index.ts';
import { podsOfJob } from '../../../kube/pods/pods.ts';
import { askKube, patchObject, readObject } from '../../../kube/client/requests.ts';
import { succeed } from '../../../testbed/failures.ts';
import { batchJob, type JobOptions, pytorchJob } from '../../../testbed/job-manifests.ts';
import { awaitRunning, createJob, podsOf, type RunningJob } from '../../../testbed/jobs.ts';
import { kubeletLabel } from '../../../testbed/servers/kwok.ts';
import { eventually } from '../../support/rig.ts';
import { liveCluster, type LiveCluster } from '../live-cluster.ts';

const gpu = 'nvidia.com/gpu';
const standbyTaint = 'kcover.io/spare';
const incident = 'recovery/default/x/1/2026-11-21T07:09:03.117Z';
const short = () => randomUUID().slice(0, 8);

let cluster: LiveCluster;
const jobs: JobRef[] = [];
const nodePaths: string[] = [];
const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
const urgent = `urgent-${short()}`;

const post = <T>(path: string, body: object): Promise<T> =>
  askKube<T>(
    cluster.kube,
    { method: 'POST', path, body: { contentType: 'application/json', text: JSON.stringify(body) } },
    'create',
  );
const remove = (path: string) =>
  askKube(cluster.kube, { method: 'DELETE', path, query: { propagationPolicy: 'Background' } }, 'tidy up').catch(
    () => undefined,
  );

beforeAll(async () => {
  cluster = await liveCluster();
  await post(classes, { metadata: { name: urgent }, value: 1000 });
});
afterAll(async () => {
  await Promise.all([...jobs.map(jobPath), `${classes}/${urgent}`].map(remove));
  // A deleted node has no kubelet, so its pods would stay.
  await eventually(
    () => Promise.all(jobs.map((job) => podsOfJob(cluster.kube, job))),
    (left) => left.every(({ present, terminating }) => present.length + terminating.length === 0),
    60_000,
  );
  await Promise.all(nodePaths.map(remove));
  await cluster.close();
});

/** Nodes of 8 GPUs that only accept jobs with this selector. */
async function pool(count: number, standbyNodes = 0): Promise<{ selector: Record<string, string>; nodes: string[] }> {
  const selector = { 'example.org/pool': short() };
  const allocatable = { cpu: '64', memory: '1Ti', pods: '110', [gpu]: '8' };
  const create = async (name: string, taints: readonly V1Taint[]) => {
    nodePaths.push(`/api/v1/nodes/${name}`);
    const metadata = {
      name,
      labels: { 'kubernetes.io/hostname': name, [kubeletLabel.key]: kubeletLabel.value, ...selector },
    };
    await post('/api/v1/nodes', { metadata, spec: { taints }, status: { capacity: allocatable, allocatable } });
    return name;
  };
  const id = short();
  const nodes = await Promise.all([
    ...Array.from({ length: count }, (_, index) => create(`room-${id}-${index}`, [])),
    ...Array.from({ length: standbyNodes }, (_, index) =>
      create(`spare-${id}-${index}`, [{ key: standbyTaint, effect: 'NoSchedule' }]),
    ),
  ]);
  const isUsable = (node: V1Node | undefined) =>
    node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true &&
    !node.spec?.taints?.some(({ key }) => key.startsWith('node.kubernetes.io/'));
  await eventually(
    () => Promise.all(nodes.map(readNode)),
    (seen) => seen.every(isUsable),
    60_000,
  );
  return { selector, nodes };
}

const readNode = (name: string) => readObject<V1Node>(cluster.kube, `/api/v1/nodes/${name}`, 'read');
const edit = (name: string | undefined, spec: object) =>
  patchObject(cluster.kube, `/api/v1/nodes/${name}`, { spec }, 'change');
const taint = (name: string | undefined, key: string, value?: string) =>
  edit(name, { taints: [{ key, value, effect: 'NoSchedule' }] });

type Given = Partial<JobOptions> & { readonly workers?: number };
const manifests = {
  PyTorchJob: ({ workers = 3, ...more }: Given) =>
    pytorchJob({ name: `room-${short()}`, labels: { [labels.cascadingRecovery]: 'true' }, ...more, workers }),
  Job: ({ workers = 3, ...more }: Given) =>
    batchJob({ name: `room-${short()}`, labels: { [labels.cascadingRecovery]: 'true' }, ...more, pods: workers + 1 }),
};

async function create(kind: keyof typeof manifests, given: Given): Promise<{ job: JobRef; running: RunningJob }> {
  const running = await createJob(cluster.api, manifests[kind](given));
  const { namespace, name, uid } = running;
  const job: JobRef = { kind, namespace, name, uid };
  jobs.push(job);
  return { job, running };
}
async function createRunning(
  kind: keyof typeof manifests,
  given: Given,
): Promise<{ job: JobRef; running: RunningJob }> {
  const one = await create(kind, given);
  await awaitRunning(cluster.api, one.running);
  return one;
}

/** Stops the job as a recovery does. */
async function suspend(job: JobRef): Promise<string[]> {
  for (;;) {
    const { job: seen, pods } = await cluster.run('observeAttempt', { job, nodes: [] });
    const request = {
      incident,
      attempt: 1,
      job,
      by: 'suspend',
      resourceVersion: seen?.resourceVersion ?? '',
      pods,
      because: 'a test asks',
    } as const;
    const stopped = await cluster.run('stopAttempt', { ...request, deadlineMs: 30_000 });
    if (stopped.kind === 'stopped') return pods.map(({ uid }) => uid);
    // The job's controller may have changed the job in between.
    if (stopped.kind !== 'interfered') throw new Error(JSON.stringify(stopped));
  }
}

const look = (job: JobRef, pods?: readonly string[]) => cluster.run('observeCapacity', { job, ...(pods && { pods }) });

/** Paths of all requests to the API server during `work`. */
async function requestsOf(work: () => Promise<unknown>): Promise<string[]> {
  const paths: string[] = [];
  const onRequest = (message: unknown): void => {
    const { request } = message as { readonly request: { readonly path: string } };
    paths.push(request.path);
  };
  subscribe('undici:request:create', onRequest);
  try {
    await work();
  } finally {
    unsubscribe('undici:request:create', onRequest);
  }
  return paths;
}

describe('capacity', () => {
  it('is what foreign taints, cordons and the requests of others leave', async () => {
    const { selector, nodes } = await pool(4);
    const { job } = await create('PyTorchJob', { suspend: true, nodeSelector: selector });
    expect(await look(job)).toMatchObject({
      needed: 4,
      fit: 4,
      fitWithStandby: 4,
      standbyNodes: [],
      sizes: { now: 4, least: 2 },
    });

    await taint(nodes[0], 'DeletionCandidateOfClusterAutoscaler', 'now');
    await edit(nodes[1], { unschedulable: true });
    const other = await createRunning('Job', {
      workers: 0,
      gpus: 2,
      nodeSelector: { ...selector, 'kubernetes.io/hostname': nodes[2] ?? '' },
    });
    const seen = await look(job);
    expect(seen).toMatchObject({ needed: 4, fit: 1 });
    expect(seen.because).toContain('1 node: taint DeletionCandidateOfClusterAutoscaler=now');
    expect(seen.because).toContain('1 node: cordoned');
    expect(seen.because).toContain(`1 node: 6 of 8 ${gpu} free`);

    const [pod] = await podsOf(cluster.api, other.running);
    if (!pod) throw new Error('no pod');
    await succeed(cluster.api, pod);
    expect(
      await eventually(
        () => look(job),
        ({ fit }) => fit === 2,
      ),
    ).toMatchObject({ needed: 4, fit: 2 });
  });

  it('is there for a job that fills it, as its own pods go', async () => {
    const { selector, nodes } = await pool(4);
    const { job } = await createRunning('PyTorchJob', { nodeSelector: selector });
    expect(await look(job)).toMatchObject({ needed: 4, fit: 4 });

    const { present } = await podsOfJob(cluster.kube, job);
    const [first] = present;
    if (!first) throw new Error('no pods');
    expect(await look(job, [first.uid])).toMatchObject({ needed: 1, fit: 1 });
    expect(nodes).toContain(first.node);
    await edit(first.node, { unschedulable: true });
    expect(await look(job, [first.uid])).toMatchObject({ needed: 1, fit: 0 });
    expect(await look(job)).toMatchObject({ needed: 4, fit: 3 });
  });

  it('is looked for among the pods of candidate nodes, one by one, and of no others', async () => {
    const { selector, nodes } = await pool(3);
    await pool(2);
    const { job } = await create('PyTorchJob', { suspend: true, nodeSelector: selector, workers: 2 });
    const asked = await requestsOf(() => look(job));
    const lists = asked
      .map((path) => new URL(path, cluster.kube.server))
      .filter(({ pathname }) => pathname === '/api/v1/pods');
    const askedOf = lists.map(
      ({ searchParams }) => /^spec\.nodeName=([^,]+),/.exec(searchParams.get('fieldSelector') ?? '')?.[1],
    );
    expect(new Set(askedOf)).toEqual(new Set(nodes));
    expect(lists.map(({ searchParams }) => searchParams.get('resourceVersion'))).toEqual(['0', '0', '0']);
  });

  it('is not found for a job that is gone', async () => {
    const job = { kind: 'PyTorchJob', namespace: 'default', name: 'nobody', uid: 'x' } as const;
    await expect(look(job)).rejects.toMatchObject({ cause: { type: 'job.gone' } });
  });
});

describe.each([
  ['PyTorchJob', '3'],
  ['Job', undefined],
] as const)('a %s without capacity for all', (kind, worldSize) => {
  it('continues with as many pods as there is capacity for', async () => {
    const { selector } = await pool(4);
    const { job, running } = await createRunning(kind, { nodeSelector: selector, terminationSeconds: 1 });
    const { present } = await podsOfJob(cluster.kube, job);
    await edit(present.at(-1)?.node, { unschedulable: true });

    const facts = await look(job);
    expect(facts).toMatchObject({ needed: 4, fit: 3, sizes: { now: 4 } });
    const decision = await cluster.run('decideCapacity', {
      facts,
      plan: { choice: 'shrink', least: 2 },
      severity: 'degrading',
      by: 'suspend',
    });
    expect(decision).toMatchObject({ kind: 'shrink', pods: 3 });

    const old = await suspend(job);
    const request = { incident, job, pods: 3 };
    expect(await cluster.run('resizeJob', request)).toEqual({ kind: 'resized', before: 4, after: 3 });
    expect(await cluster.run('resizeJob', request)).toEqual({ kind: 'resized', before: 4, after: 3 });
    expect(await cluster.run('resumeJob', { job, incident })).toEqual({ resumed: true });

    const next = await cluster.run('awaitAttempt', { incident, job, old, deadlineMs: 50_000 });
    expect(next).toMatchObject({ kind: 'running' });
    expect(next.kind === 'running' && next.pods).toHaveLength(3);
    const worldSizes = (await podsOf(cluster.api, running)).map(
      ({ spec }) => spec?.containers[0]?.env?.find(({ name }) => name === 'WORLD_SIZE')?.value,
    );
    expect(worldSizes).toEqual([worldSize, worldSize, worldSize]);
    expect(await cluster.run('observeJob', { job })).toMatchObject({ podsExpected: 3, gpus: 24 });
    const object = await readObject(cluster.kube, jobPath(job), 'read');
    expect(object?.metadata?.annotations).toMatchObject({ [annotations.podsBefore]: '4' });
    expect(await look(job)).toMatchObject({ needed: 3, fit: 3, sizes: { now: 3 } });
  });
});

describe('another size', () => {
  it('is refused while the job is not suspended by this incident', async () => {
    const refused = { kind: 'refused', because: 'it is not suspended by this incident' };
    const running = await createRunning('PyTorchJob', { gpus: 0 });
    expect(await cluster.run('resizeJob', { incident, job: running.job, pods: 3 })).toEqual(refused);
    const { job } = await create('PyTorchJob', { gpus: 0, suspend: true });
    expect(await cluster.run('resizeJob', { incident, job, pods: 3 })).toEqual(refused);

    await suspend(running.job);
    expect(await cluster.run('resizeJob', { incident: `${incident}0`, job: running.job, pods: 3 })).toEqual(refused);
    expect(await cluster.run('resizeJob', { incident, job: { ...running.job, uid: 'another' }, pods: 3 })).toEqual({
      kind: 'refused',
      because: 'the job is gone',
    });
    expect(await cluster.run('observeJob', { job: running.job })).toMatchObject({ podsExpected: 4 });
  });

  it('is given without a priority class that is not there', async () => {
    const { job } = await createRunning('PyTorchJob', { gpus: 0 });
    await suspend(job);
    const request = { incident, job, pods: 3, priorityClass: 'nobody' };
    const resized = { kind: 'resized', before: 4, after: 3, ignored: 'there is no priority class nobody' };
    expect(await cluster.run('resizeJob', request)).toEqual(resized);
    expect(await cluster.run('resizeJob', request)).toEqual(resized);
    expect(await cluster.run('observeJob', { job })).toMatchObject({ podsExpected: 3 });
  });

  it('may be a priority class, where there is one', async () => {
    const { job, running } = await createRunning('PyTorchJob', { gpus: 0, workers: 1 });
    const old = await suspend(job);
    expect(await cluster.run('resizeJob', { incident, job, priorityClass: 'nobody' })).toEqual({
      kind: 'refused',
      because: 'there is no priority class nobody',
    });
    expect(await cluster.run('resizeJob', { incident, job, priorityClass: urgent })).toEqual({
      kind: 'resized',
      before: 2,
      after: 2,
    });
    await cluster.run('resumeJob', { job, incident });
    const pods = await awaitRunning(cluster.api, running, { except: new Set(old) });
    expect(pods.map(({ spec }) => spec?.priority)).toEqual([1000, 1000]);
  });
});

describe('standby nodes', () => {
  it('are taken once, by a recovery that finds no other capacity', async () => {
    const { selector, nodes } = await pool(3, 2);
    const { job } = await create('PyTorchJob', { suspend: true, nodeSelector: selector });
    const facts = await look(job);
    expect(facts).toMatchObject({ needed: 4, fit: 3, fitWithStandby: 4, standbyNodes: [nodes[3]] });
    expect(facts.because).toContain(`taint ${standbyTaint}`);

    const request = { incident, nodes: facts.standbyNodes };
    expect(await cluster.run('takeStandbyNodes', request)).toEqual({ taken: [nodes[3]] });
    expect(await cluster.run('takeStandbyNodes', request)).toEqual({ taken: [nodes[3]] });
    const node = await readNode(nodes[3] ?? '');
    expect(node?.spec?.taints?.some(({ key }) => key === standbyTaint) ?? false).toBe(false);
    expect(node?.metadata?.annotations).toMatchObject({ [annotations.standbyNodeTaken]: recoveryWithoutUid(incident) });
    expect(await look(job)).toMatchObject({ needed: 4, fit: 4, standbyNodes: [] });

    await taint(nodes[3], standbyTaint);
    expect(await cluster.run('takeStandbyNodes', request)).toEqual({ taken: [] });
    expect(await cluster.run('takeStandbyNodes', { ...request, incident: `${incident}0` })).toEqual({
      taken: [nodes[3]],
    });
  });

  it('are left alone when they are cordoned, quarantined, gone or no standby nodes', async () => {
    const { nodes } = await pool(1, 2);
    await edit(nodes[1], { unschedulable: true });
    const taints = [standbyTaint, 'kcover.io/quarantine'].map((key) => ({ key, effect: 'NoSchedule' }));
    await edit(nodes[2], { taints });
    expect(await cluster.run('takeStandbyNodes', { incident, nodes: [...nodes, 'nobody'] })).toEqual({ taken: [] });
    expect((await readNode(nodes[2] ?? ''))?.spec?.taints).toEqual(expect.arrayContaining(taints));
  });
});

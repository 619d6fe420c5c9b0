import { describe, expect, it } from '@jest/globals';
import { withCheckedArguments } from '../../activities/arguments.ts';
import type { Activities } from '../../contract/wire/activities.ts';
import { activityArguments, whyNotGiven } from '../../contract/wire/activity-arguments.schema.ts';
import { job, kernelFault, pods } from '../support/builders.ts';
import { forgedNames, forgedUids } from '../support/forged-names.ts';

const incident = 'recovery/train/llm/job-uid/2026-11-21T07:09:03.117Z';
const node = { node: 'gpu-3', uid: 'node-3', incident: 'node/gpu-3/2026-11-21T07:09:03.117Z' };
const { uid: podUid } = pods[0];

/** A valid argument of every activity that reads or writes anything. */
const honest: Readonly<Partial<Record<keyof Activities, object>>> = {
  observeNode: { node: 'gpu-3' },
  reserveQuarantine: { node: 'gpu-3', nodeUid: 'node-3', incident: node.incident },
  quarantineNode: { ...node, reason: 'xid-79', because: 'b' },
  releaseNode: { ...node, by: 'ada', because: 'b' },
  recallIncidents: { node: 'gpu-3', incident: node.incident },
  permitRepair: node,
  observeMachine: { node: 'gpu-3' },
  observeMaintenance: { node: 'gpu-3' },
  orderQuarantine: { node: 'gpu-3', by: 'ada', reason: 'r' },
  returnNode: { node: 'gpu-3', incident: node.incident, by: 'ada', reason: 'r' },
  drainNode: { node: 'gpu-3', uid: 'node-3', timeoutMs: 1 },
  runHook: { ...node, hook: 'reset', operation: 'op-1', systemUuid: 's', codes: [], devices: [], timeoutMs: 1 },
  awaitProof: { node: 'gpu-3', before: { uid: 'node-3' }, proof: ['ready'], timeoutMs: 1 },
  notifyJobs: { node: 'gpu-3', faults: [kernelFault()] },
  observeJob: { job },
  observeCluster: { clusterUid: 'u' },
  listPods: { job },
  observeAttempt: { job, nodes: ['gpu-3'], pods: [podUid] },
  stopAttempt: { incident, attempt: 1, job, pods, terminating: pods, force: pods, by: 'suspend' },
  resumeJob: { incident, job },
  awaitAttempt: { incident, job, old: [podUid], remaining: [podUid] },
  verifyProgress: { incident, job },
  awaitCheckpoint: { incident, job },
  observeCapacity: { job, pods: [podUid] },
  joinWave: { incident, job, pod: 'llm-worker-0', pods: 4, rule: { pods: 500, everyMs: 60_000 } },
  takeStandbyNodes: { incident, nodes: ['gpu-3'] },
  resizeJob: { incident, job, pods: 3 },
  askProcesses: { incident, job, attempt: 1, reason: 'x', askedAt: 't', deadline: 't' },
  captureEvidence: { incident, attempt: 1, job, pods, nodes: ['gpu-3'], kernel: [{ node: 'gpu-3', lines: [] }] },
  removeRecoveryLabel: { job },
  notifyNodes: { faults: [kernelFault()] },
  observeWorkload: { workload: { namespace: 'train', name: 'llm', uid: 'u', job } },
  noteVerdict: { job, note: {} },
  announce: {
    events: [
      { about: { kind: 'node', name: 'gpu-3' } },
      { about: { kind: 'job', job } },
      { about: { kind: 'pod', namespace: 'train', name: 'llm-0', uid: 'u' } },
    ],
  },
  recordIncident: { incident },
  findRecoveries: { job },
  lookAtRecovery: { incident },
  notifyWaiting: { workflowIds: ['node/gpu-3', incident] },
};

type Path = readonly string[];
const isText = (value: unknown): value is string => typeof value === 'string';

/** All strings in a value that name something, with their paths. */
function texts(value: unknown, at: Path = []): { readonly at: Path; readonly text: string }[] {
  if (isText(value)) return [{ at, text: value }];
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, each]) => texts(each, [...at, key]))
    : [];
}

/** A copy with another value at the path. */
function changed(value: unknown, [key, ...rest]: Path, to: unknown): unknown {
  if (key === undefined) return to;
  if (Array.isArray(value)) return value.map((each, index) => (String(index) === key ? changed(each, rest, to) : each));
  return { ...(value as object), [key]: changed((value as Readonly<Record<string, unknown>>)[key], rest, to) };
}

const names = new Set(['name', 'namespace', 'node']);
const listsOfNames = new Set(['nodes']);
const uids = new Set(['uid', 'nodeUid', 'clusterUid']);
const listsOfUids = new Set(['old', 'remaining']);
const ids = new Set(['incident']);
const listsOfIds = new Set(['workflowIds']);

const last = ({ at }: { readonly at: Path }, of: ReadonlySet<string>, lists: ReadonlySet<string>): boolean =>
  of.has(at.at(-1) ?? '') || lists.has(at.at(-2) ?? '');

describe.each(Object.entries(honest))('%s', (activity, given) => {
  const found = texts(given);
  const where = (of: ReadonlySet<string>, lists: ReadonlySet<string>) =>
    found.filter((each) => last(each, of, lists)).map(({ at }) => at);

  it('takes what a workflow asks of it', () => {
    expect(whyNotGiven(activity, given)).toBeUndefined();
  });

  it.each(forgedNames)('takes no name that is %s', (_, text) => {
    for (const at of where(names, listsOfNames))
      expect([at, whyNotGiven(activity, changed(given, at, text))]).toEqual([at, expect.any(String)]);
  });

  it.each(forgedUids)('takes no UID that is %s', (_, text) => {
    for (const at of where(uids, listsOfUids))
      expect([at, whyNotGiven(activity, changed(given, at, text))]).toEqual([at, expect.any(String)]);
  });

  it.each(['..', '../x', 'a/../b', 'recovery/./x', "a'b", 'a\nb', '', 'x'.repeat(501)])(
    'takes no id that is %j',
    (text) => {
      for (const at of where(ids, listsOfIds))
        expect([at, whyNotGiven(activity, changed(given, at, text))]).toEqual([at, expect.any(String)]);
    },
  );

  it('takes nothing that is no request', () => {
    for (const other of [undefined, null, 'text', 7, []])
      expect(whyNotGiven(activity, other)).toEqual(expect.stringContaining(activity));
  });
});

it('every activity but a decision is looked at here', () => {
  expect(Object.keys(honest).toSorted()).toEqual(
    Object.keys(activityArguments)
      // Decisions are pure, a pause is stored under a fixed name, and a route is looked up by its name.
      .filter((activity) => !activity.startsWith('decide') && !['storePause', 'deliverNotification'].includes(activity))
      .toSorted(),
  );
});

it.each(['1/../../x', -1, 1.5, Number.NaN, Infinity, '1', null])('an attempt is a number, and never %j', (attempt) => {
  for (const activity of ['stopAttempt', 'askProcesses', 'captureEvidence'] as const)
    expect(whyNotGiven(activity, { ...honest[activity], attempt })).toMatch(/attempt/);
});

it('an activity is not run with what leads elsewhere', async () => {
  const ran: unknown[] = [];
  const observeNode = async (request: unknown) => void ran.push(request);
  const guarded = withCheckedArguments({ observeNode } as unknown as Activities);
  await expect(guarded.observeNode({ node: '../pods' })).rejects.toMatchObject({ code: 'name.invalid' });
  expect(ran).toEqual([]);
  await guarded.observeNode({ node: 'gpu-3' });
  expect(ran).toEqual([{ node: 'gpu-3' }]);
});

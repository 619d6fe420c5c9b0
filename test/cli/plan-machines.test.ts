import { describe, expect, it } from '@jest/globals';
import { pageOf } from '../../cli/plan/page.ts';
import { type PlanReport, planOf } from '../../cli/plan/plan.ts';
import type { PlanInput } from '../../cli/plan/facts.ts';
import type { JobOverrides } from '../../contract/job/job-overrides.ts';
import type { JobView } from '../../contract/job/jobs.ts';
import { jobView, kernelFault, podFault, settings, tainted } from '../support/builders.ts';
import { at, hypothetical, planFacts } from './plan-facts.ts';

const act = (more: object = {}) => settings({ mode: 'act', ...more });
const { attempt, known } = planFacts();
const progress = { step: 1200, checkpointStep: 1100, at, pace: { msPerStep: 1000, stepsPerCheckpoint: 150 } };
const degrading = hypothetical('xid/64', { node: 'gpu-3' });
const training = (overrides: Partial<JobOverrides>, job: Partial<JobView> = {}, more: Partial<PlanInput> = {}) =>
  planFacts({
    hypothetical: degrading,
    attempt: { ...attempt, job: jobView({ progress, gpus: 32, overrides: { ignored: [], ...overrides }, ...job }) },
    ...more,
  });
const rowsOf = ({ steps }: PlanReport, ...names: readonly string[]) =>
  steps.filter(({ step }) => names.includes(step)).map(({ step, what }) => `${step}: ${what}`);
const quarantined = { state: 'quarantined', because: 'Xid 79' } as const;
const open = { incident: 'recovery/train/llm/job-uid/x', stops: 0, attempts: 3, asked: false };

describe('a plan runs the machines of the workflows', () => {
  it('names every answer that it assumes, on the page too', async () => {
    const facts = training({});
    const plan = await planOf(facts, act({ recovery: { approval: { degrading: 8 } } }));
    expect(plan.assumed).toEqual([
      'the limit of quarantined nodes allows the quarantine of gpu-3',
      'a person approves',
      'the evidence can be captured',
      'the checkpoint is saved in time',
      'the stop succeeds: all its pods are gone within their grace period',
      'all pods of the next attempt become ready in time',
      'training passes step 1200 in time',
    ]);
    const page = pageOf(facts, plan).split('\n');
    expect(page.slice(page.indexOf('the steps assume:') + 1)).toEqual(plan.assumed.map((each) => `  ${each}`));
  });

  it('awaits the checkpoint of a termination where nothing is created before the job is resumed, and nowhere else', async () => {
    const suspended = await planOf(training({ checkpoint: 'on-termination' }), act());
    expect(rowsOf(suspended, 'checkpoint', 'stop')).toEqual([
      'checkpoint: none is awaited before the stop',
      'stop: 4 pods by suspend',
      'checkpoint: one of step 1200 within 1m after the stop',
    ]);
    const deleted = await planOf(
      training({ checkpoint: 'on-termination' }, { canStopBy: ['delete-collection'] }),
      act(),
    );
    expect(rowsOf(deleted, 'checkpoint', 'stop')).toEqual([
      'checkpoint: none is awaited before the stop',
      'stop: 4 pods by delete-collection',
    ]);
  });

  it.each<[JobOverrides['capacity'], readonly string[], string]>([
    ['standby', ['take standby nodes gpu-7', 'go on'], 'the standby nodes are free until they are taken'],
    ['ask', ['a person has 30m; without an answer: deny', 'go on'], 'a person approves'],
  ])('looks for capacity once more after the choice %s', async (capacity, rows, assumed) => {
    const short = { needed: 4, fit: 3, fitWithStandby: 4, standbyNodes: ['gpu-7'], because: '2 nodes: cordoned' };
    const plan = await planOf(training(capacity ? { capacity } : {}, {}, { capacity: short }), act());
    expect(rowsOf(plan, 'capacity')).toEqual(rows.map((row) => `capacity: ${row}`));
    expect(plan).toMatchObject({ does: 'stops', assumed: expect.arrayContaining([assumed]) });
  });

  it('says that capacity which was not looked up is assumed', async () => {
    const { capacity: _, ...facts } = training({});
    expect(await planOf(facts, act())).toMatchObject({
      does: 'stops',
      assumed: expect.arrayContaining(['there is capacity for 4 pods: it was not looked up']),
    });
  });

  it('assumes of the processes that they do not help, and of the pods after them that they do', async () => {
    const fault = hypothetical('pod/exit', { pod: 'llm-worker-1' });
    const plan = await planOf(training({ level: 'process' }, {}, { hypothetical: fault }), act());
    expect(rowsOf(plan, 'in-process', 'stop', 'restart')).toEqual([
      'in-process: training inside its processes; a step beyond 1200 within 2m',
      'stop: llm-worker-1 alone',
      'restart: all 4 pods ready within 5m, none on a quarantined node',
    ]);
    expect(plan.assumed[0]).toBe('training does not go on inside its processes');
  });

  it('holds an open recovery whose job is paused', async () => {
    const fault = kernelFault({ quarantine: quarantined });
    const paused = { by: 'bob', reason: 'demo' };
    const facts = planFacts({
      attempt: { ...attempt, nodes: [tainted()] },
      known: { ...known, fresh: [fault], open, paused },
    });
    expect(await planOf(facts, act())).toMatchObject({ does: 'holds', because: 'paused by bob: demo', steps: [] });
  });

  it('awaits the next attempt of an open recovery that has stopped one, and stops nothing', async () => {
    const handled = [kernelFault({ quarantine: quarantined })];
    const plan = await planOf(training({}, {}, { known: { ...known, handled, open: { ...open, stops: 1 } } }), act());
    expect(plan.does).toBe('stops');
    const { hypothetical: _, ...facts } = training(
      {},
      {},
      { known: { ...known, handled, open: { ...open, stops: 1 } } },
    );
    const waits = await planOf(facts, act());
    expect(waits).toMatchObject({ does: 'nothing', decisions: { recovery: { kind: 'go-on' } } });
    expect(waits.steps.map(({ step }) => step)).toEqual(['restart', 'verify']);
  });

  it('escalates where an open recovery has no attempt left', async () => {
    const known3 = { ...known, fresh: [kernelFault()], open: { ...open, stops: 3 } };
    const { hypothetical: _, ...facts } = training({}, {}, { known: known3 });
    expect(await planOf(facts, act())).toMatchObject({
      does: 'nothing',
      decisions: { recovery: { kind: 'end', outcome: 'escalated' } },
      steps: [],
    });
  });

  it('verifies nothing where progress was last reported long before', async () => {
    const old = { ...progress, at: '2026-11-20T07:00:00Z' };
    const plan = await planOf(training({}, { progress: old }), act());
    expect(plan.steps.at(-1)).toMatchObject({
      step: 'verify',
      what: 'nothing',
      because: expect.stringContaining('its progress was last reported at 2026-11-20T07:00:00Z'),
    });
  });

  it('takes a node that is not ready for that, also where the settings quarantine it', async () => {
    const how = act({ faults: { responses: { notReady: 'quarantine' } } });
    const facts = training({}, {}, { hypothetical: hypothetical('node/not-ready', { node: 'gpu-3' }) });
    const plan = await planOf(facts, how);
    expect(plan.does).toBe('stops');
    expect(rowsOf(plan, 'quarantine')).toHaveLength(1);
  });

  it('assumes a node that is not among the facts, and says so', async () => {
    const plan = await planOf(training({}, {}, { hypothetical: hypothetical('xid/79', { node: 'gpu-2' }) }), act());
    expect(plan.does).toBe('stops');
    expect(plan.assumed[0]).toBe('gpu-2 is ready and has no taint: it is not among the facts');
  });
});

describe('a pod that failed on a node with a fault that its job was not notified of', () => {
  const failed = podFault({ seenAt: '2026-11-21T07:09:03Z' });
  const behind = kernelFault({ quarantine: quarantined });
  const facts = (nodes: PlanInput['attempt']['nodes'], found: PlanInput['known']['found']) =>
    planFacts({ attempt: { ...attempt, nodes }, known: { ...known, fresh: [failed], ...(found && { found }) } });

  it('is explained by it, as the decision of the worker would find', async () => {
    expect(await planOf(facts([tainted()], [behind]), act())).toMatchObject({
      does: 'stops',
      because: expect.stringMatching(/^xid\/79 on gpu-3 .*\(and 1 more\)$/),
      decisions: { recovery: { blame: 'hardware' } },
    });
    expect(await planOf(facts([tainted()], undefined), act())).toMatchObject({
      because: expect.stringMatching(/^pod\/exit on gpu-3/),
    });
  });

  it('holds the recovery until the node is quarantined', async () => {
    expect(await planOf(facts(attempt.nodes, [behind]), act())).toMatchObject({
      does: 'holds',
      because: 'gpu-3 is not quarantined: Xid 79',
    });
  });
});

import { describe, expect, it } from '@jest/globals';
import { sourcesOf, traitsOf } from '../../contract/faults/sources.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { PlanInput } from '../../cli/plan/facts.ts';
import { pageOf } from '../../cli/plan/page.ts';
import { planOf } from '../../cli/plan/plan.ts';
import { jobView, kernelFault, settings, tainted } from '../support/builders.ts';
import { at, hypothetical, planFacts } from './plan-facts.ts';

const act = (more: object = {}) => settings({ mode: 'act', ...more });
const onGpu3 = planFacts({ hypothetical: hypothetical('xid/79', { node: 'gpu-3' }) });
const steps = async (facts: PlanInput, how = act()) => (await planOf(facts, how)).steps.map(({ step }) => step);
const progress = { step: 1200, checkpointStep: 1100, at, pace: { msPerStep: 1000, stepsPerCheckpoint: 150 } };
const training = (more: Partial<PlanInput> = {}) =>
  planFacts({ ...more, attempt: { ...planFacts().attempt, job: jobView({ progress, gpus: 32 }) } });

describe('the plan for a job', () => {
  it('does nothing where nothing is wrong', async () => {
    expect(await planOf(planFacts(), act())).toMatchObject({
      does: 'nothing',
      because: 'no fault is waiting',
      steps: [],
    });
  });

  it('names every step of a stop, in the order in which a recovery takes them', async () => {
    const facts = training({ hypothetical: hypothetical('xid/79', { node: 'gpu-3' }) });
    expect(await steps(facts, act({ recovery: { approval: { dead: 8, degrading: 8, slow: 8 } } }))).toEqual([
      'quarantine',
      'approve',
      'evidence',
      'checkpoint',
      'capacity',
      'stop',
      'restart',
      'verify',
    ]);
  });

  it('shows how the node would be repaired where the settings say so', async () => {
    const command = { kind: 'command', command: ['/bin/true'] };
    const rungs = [
      { hook: 'reset', attempts: 2 },
      { hook: 'reboot', verify: 'diag' },
    ];
    const remediation = {
      mode: 'run',
      hooks: { reset: command, reboot: command, diag: command },
      ladders: [{ name: 'gpu', codes: ['xid/*'], rungs, release: 'verified' }],
    };
    const repair = { step: 'repair', because: 'ladder gpu is for xid/79' };
    const what = 'gpu-3: reset, up to 2 times; then reboot, tested by diag; 1h on probation, then kcover releases it';
    const plan = await planOf(onGpu3, settings({ mode: 'act', remediation }));
    expect(plan.steps).toContainEqual({ ...repair, what });
    const observed = await planOf(onGpu3, settings({ remediation }));
    expect(observed.steps).toContainEqual({ ...repair, what, otherwise: true });
    expect((await planOf(onGpu3, act())).steps.filter(({ step }) => step === 'repair')).toEqual([]);
  });

  it('assumes that the node of a hypothetical fault is quarantined before the job is judged', async () => {
    const { does, steps: all, decisions } = await planOf(onGpu3, act());
    expect(does).toBe('stops');
    expect(all[0]).toMatchObject({ step: 'quarantine', what: 'gpu-3: taint kcover.io/quarantine=xid-79:NoSchedule' });
    expect(decisions).toMatchObject({
      node: { kind: 'quarantine' },
      incident: { kind: 'open' },
      recovery: { kind: 'stop', by: 'suspend' },
    });
  });

  it('does nothing for a code that no rule acts on, and names the command for a person', async () => {
    expect(await planOf(planFacts({ hypothetical: hypothetical('xid/9999', { node: 'gpu-3' }) }), act())).toMatchObject(
      {
        does: 'nothing',
        because: expect.stringContaining('a person must decide'),
        remedy: expect.stringContaining('kcover node quarantine gpu-3'),
      },
    );
  });

  it('shows in mode observe what would have been done', async () => {
    const plan = await planOf(onGpu3, settings());
    expect(plan).toMatchObject({
      does: 'nothing',
      because: expect.stringContaining('mode is observe'),
      remedy: 'set mode: act, or kcover recover',
    });
    expect(plan.steps.map(({ step }) => step)).toEqual([
      'quarantine',
      'evidence',
      'checkpoint',
      'capacity',
      'stop',
      'restart',
      'verify',
    ]);
    expect(plan.steps.filter(({ otherwise }) => !otherwise)).toEqual([]);
  });

  it('quarantines the node, and does nothing for a job that has no pod there', async () => {
    const [node] = planFacts().attempt.nodes;
    const facts = planFacts({ hypothetical: hypothetical('xid/79', { node: 'gpu-9' }) });
    const elsewhere = { ...facts, attempt: { ...facts.attempt, nodes: node ? [{ ...node, name: 'gpu-9' }] : [] } };
    const { does, because, steps: all } = await planOf(elsewhere, act());
    expect({ does, because, steps: all.map(({ step }) => step) }).toEqual({
      does: 'nothing',
      because: 'no pod of the job is left on gpu-9',
      steps: ['quarantine'],
    });
  });

  it('waits for the node of a pod that failed before anything else', async () => {
    const plan = await planOf(planFacts({ hypothetical: hypothetical('pod/exit', { pod: 'llm-worker-1' }) }), act());
    expect(plan.steps[0]).toMatchObject({ step: 'wait', what: '500ms, until 2026-11-21T07:09:13.500Z' });
    expect(plan.does).toBe('stops');
  });

  it('holds before the stop where there is no capacity', async () => {
    const capacity = { needed: 4, fit: 3, fitWithStandby: 3, standbyNodes: [], because: '2 nodes: cordoned' };
    const plan = await planOf(
      { ...training({ hypothetical: hypothetical('preflight/slow-node', { node: 'gpu-3' }) }), capacity },
      act(),
    );
    expect(plan).toMatchObject({
      does: 'holds',
      because: expect.stringContaining('capacity for 3 of 4 pods (2 nodes: cordoned)'),
    });
    expect(plan.steps.at(-1)).toMatchObject({ step: 'capacity', what: 'hold: nothing is stopped' });
  });

  describe('where the broken pods alone find no capacity', () => {
    const alone = {
      needed: 1,
      fit: 0,
      fitWithStandby: 0,
      standbyNodes: [],
      because: '4 nodes: no nvidia.com/gpu free',
    };
    const all = {
      needed: 4,
      fit: 3,
      fitWithStandby: 3,
      standbyNodes: [],
      because: '1 node: no nvidia.com/gpu free',
      sizes: { now: 4, least: 1 },
    };
    const overrides = { level: 'pod', capacity: 'shrink', minReplicas: 2, ignored: [] } as const;
    const attempt = { ...planFacts().attempt, job: jobView({ progress, gpus: 32, overrides }) };
    const facts = planFacts({ attempt, hypothetical: hypothetical('xid/79', { node: 'gpu-3' }), capacity: alone });
    const planned = (capacityOfAll: PlanInput['capacityOfAll']) =>
      planOf({ ...facts, ...(capacityOfAll && { capacityOfAll }) }, act());

    it('stops the whole job where it may be made smaller, as a recovery would', async () => {
      const plan = await planned(all);
      expect(plan).toMatchObject({
        does: 'stops',
        decisions: { capacity: { kind: 'shrink', pods: 3 }, recovery: { plan: { level: { name: 'job' } } } },
      });
      expect(
        plan.steps.filter(({ step }) => ['capacity', 'stop', 'restart'].includes(step)).map(({ what }) => what),
      ).toEqual([
        'none for the broken pods alone: the whole job',
        'go on with 3 pods',
        '4 pods by suspend',
        'all 3 pods ready within 10m, none on a quarantined node',
      ]);
    });

    it('names that step, and in mode observe as what would be done', async () => {
      const names = async (how: WorkerSettings) =>
        (await planOf({ ...facts, capacityOfAll: all }, how)).steps.map(({ step }) => step);
      const asked = act({ recovery: { approval: { dead: 8 } } });
      expect(await names(asked)).toEqual([
        'quarantine',
        'approve',
        'evidence',
        'checkpoint',
        'capacity',
        'capacity',
        'stop',
        'restart',
        'verify',
      ]);
      const observed = await planOf({ ...facts, capacityOfAll: all }, settings());
      expect(observed).toMatchObject({
        does: 'nothing',
        decisions: { recovery: { kind: 'end', plan: { level: { name: 'pod' } } } },
      });
      expect(observed.steps.filter(({ otherwise }) => !otherwise)).toEqual([]);
      expect(observed.steps.map(({ what }) => what)).toContain('go on with 3 pods');
    });

    it('holds where no size of the job finds capacity, or capacity was not looked up', async () => {
      expect(await planned({ ...all, fit: 1 })).toMatchObject({
        does: 'holds',
        because: expect.stringContaining('needs at least 2'),
      });
      expect(await planned(undefined)).toMatchObject({
        does: 'holds',
        because: expect.stringContaining('only the whole job can be shrunk'),
      });
    });
  });

  it('holds while kcover or the job is paused, and names the command that resumes', async () => {
    const held = { by: 'bob', reason: 'demo' };
    expect(await planOf({ ...onGpu3, attempt: { ...onGpu3.attempt, paused: held } }, act())).toMatchObject({
      does: 'holds',
      remedy: 'kcover resume',
    });
    expect(await planOf({ ...onGpu3, known: { ...onGpu3.known, paused: held } }, act())).toMatchObject({
      does: 'holds',
      remedy: 'kcover resume pytorchjob/llm -n train',
    });
  });

  it('refuses when the budget is used up, unless a person asks', async () => {
    const usage = Array.from({ length: 20 }, (_, index) => ({
      incident: `r${index}`,
      startedAt: Date.parse(at) - 60_000 * (index + 1),
      blame: 'hardware' as const,
    }));
    const known = { fresh: [], handled: [], usage };
    expect(await planOf({ ...onGpu3, known }, act())).toMatchObject({
      does: 'nothing',
      because: expect.stringContaining('20 are allowed for hardware'),
    });
    expect(await planOf(planFacts({ known, hypothetical: hypothetical('operator/recover') }), act())).toMatchObject({
      does: 'stops',
    });
  });

  it('continues the open recovery, and judges its faults', async () => {
    const fault = kernelFault({ quarantine: { state: 'quarantined', because: 'Xid 79' } });
    const open = { incident: 'recovery/train/llm/job-uid/x', stops: 0, attempts: 3, asked: false };
    const attempt = { ...planFacts().attempt, nodes: [tainted()] };
    const { decisions, does } = await planOf(
      planFacts({ attempt, known: { fresh: [fault], handled: [], usage: [], open } }),
      act(),
    );
    expect({ does, incident: decisions.incident }).toEqual({ does: 'stops' });
  });

  it('does nothing for a job that is not opted in', async () => {
    const attempt = { ...planFacts().attempt, job: jobView({ optedIn: false }) };
    expect(await planOf({ ...onGpu3, attempt }, act())).toMatchObject({
      does: 'nothing',
      remedy: 'kcover start pytorchjob/llm -n train',
    });
  });

  it.each([
    'pod/exit',
    'pod/oom-killed',
    'pod/cannot-run',
    'pod/init-exit',
    'pod/evicted',
    'pod/disruption',
    'pod/failed',
  ])('builds a hypothetical %s of a pod', (code) => {
    expect(hypothetical(code, { pod: 'llm-worker-1' })).toMatchObject({
      code,
      source: 'pod',
      node: 'gpu-2',
      pod: { uid: 'pod-2' },
    });
  });

  it.each([
    'xid/79',
    'xid/9999',
    'sxid/20034',
    'kernel/gpu-off-bus',
    'kernel/peermem',
    'node/not-ready',
    'preflight/gpu-check',
  ])('builds a hypothetical %s on a node', (code) => {
    expect(hypothetical(code, { node: 'gpu-3' })).toMatchObject({ code, node: 'gpu-3' });
  });

  it.each(sourcesOf('agent').flatMap((name) => Object.entries(traitsOf(name).actions ?? {})))(
    'assumes of a hypothetical %s the action that its source reports: %s',
    (code, action) => {
      expect(hypothetical(code, { node: 'gpu-3' })).toMatchObject({ code, action });
    },
  );

  it.each([
    ['gpu/on-fire', {}, 'gpu/on-fire is no fault that kcover knows'],
    ['xid/79', {}, 'xid/79 needs --node'],
    ['pod/exit', {}, 'pod/exit needs --pod'],
    ['pod/exit', { pod: 'x' }, 'the job has no pod x'],
  ])('refuses a hypothetical %s with %j', (code, where, because) => {
    expect(() => hypothetical(code, where)).toThrow(expect.objectContaining({ code: 'usage', because }));
  });
});

describe('the page of kcover plan', () => {
  it('shows what would be done, the hypothetical fault and what could not be read', async () => {
    const facts = { ...onGpu3, unseen: ['whether kcover is paused: connect to 127.0.0.1:1: refused'] };
    const lines = pageOf(facts, await planOf(facts, act())).split('\n');
    expect(lines[0]).toBe('train/pytorchjob/llm   would stop pods');
    expect(lines).toContain('  assumed    xid/79 on gpu-3: hypothetical, not observed');
    expect(lines).toContain('  not seen   whether kcover is paused: connect to 127.0.0.1:1: refused');
    expect(lines.find((line) => line.startsWith('STEP'))).toMatch(/^STEP +WHAT +BECAUSE$/);
  });
});

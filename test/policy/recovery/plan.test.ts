import { describe, expect, it } from '@jest/globals';
import type { JobOverrides } from '../../../contract/job/job-overrides.ts';
import type { JobView } from '../../../contract/job/jobs.ts';
import type { RecoveryFacts } from '../../../contract/recovery/recovery.ts';
import { planStop } from '../../../policy/recovery/plan.ts';
import { decideRecovery } from '../../../policy/recovery/recovery.ts';
import { jobView, kernelFault, podFault, pods, settings, tainted } from '../../support/builders.ts';

const now = Date.parse('2026-11-21T07:09:04Z');
const quarantined = { state: 'quarantined', because: 'xid/63' } as const;
/** A row of memory is about to be remapped: training continues for a while. */
const degrading = kernelFault({
  code: 'xid/63',
  message: 'row remapping is pending',
  action: 'reset-gpu',
  quarantine: quarantined,
});
const progress = {
  step: 1290,
  checkpointStep: 1200,
  at: '2026-11-21T07:09:00Z',
  pace: { msPerStep: 6000, stepsPerCheckpoint: 100 },
};
const overrides = (more: Partial<JobOverrides>): { overrides: JobOverrides } => ({
  overrides: { ignored: [], ...more },
});

function plan(
  given: { readonly job?: Partial<JobView>; readonly facts?: Partial<RecoveryFacts>; readonly settings?: object } = {},
) {
  const job = jobView({ gpus: 32, progress, ...given.job });
  const facts: RecoveryFacts = {
    attempt: { job, pods, nodes: [tainted()], undecided: [] },
    fresh: [degrading],
    handled: [],
    stops: 0,
    attempts: 3,
    asked: false,
    now,
    ...given.facts,
  };
  return planStop(facts, job, settings({ recovery: given.settings ?? {} }).recovery);
}

describe('what comes before a stop', () => {
  it('is a checkpoint, where waiting for it costs less than it saves', () => {
    expect(plan().plan).toMatchObject({
      severity: 'degrading',
      checkpoint: {
        strategy: 'fresh',
        beyond: 1200,
        because: expect.stringMatching(/waiting .* GPU-hours, stopping now/),
      },
      capacity: { choice: 'hold', least: 4 },
      level: { name: 'job' },
      ignored: [],
    });
  });

  it('is a wave, where several nodes have one cause and no person asks for the recovery', () => {
    const fresh = [kernelFault({ quarantine: { ...quarantined, storm: 'storm/xid-79/rack=r7' } })];
    const waves = { pods: 64, every: '30s', most: '5m' };
    expect(plan({ facts: { fresh }, settings: { waves } }).plan.wave).toEqual({
      rule: { pods: 64, everyMs: 30_000 },
      withinMs: 300_000,
      because: 'several nodes have one cause (storm/xid-79/rack=r7): their jobs restart in waves of 64 pods',
    });
    expect(plan({ facts: { fresh, asked: true }, settings: { waves } }).plan.wave).toBeUndefined();
    expect(plan({ settings: { waves } }).plan.wave).toBeUndefined();
  });

  it.each<[string, number, string, object]>([
    ['waits no longer than until two minutes before', 10 * 60_000, 'fresh', { withinMs: 8 * 60_000 }],
    ['does not wait where no checkpoint comes before', 150_000, 'none', {}],
    ['waits as usual when it has long passed, because no one takes the node', -31 * 60_000, 'fresh', {}],
  ])('%s the deadline of a node that others replace', (_, inMs, strategy, more) => {
    const deadline = new Date(now + inMs).toISOString();
    // The next checkpoint is due in a minute, and overdue only after eleven.
    expect(plan({ facts: { fresh: [{ ...degrading, deadline }] } }).plan.checkpoint).toMatchObject({
      strategy,
      ...more,
    });
  });

  it.each([
    ['by strategy', { settings: { checkpoint: { strategy: 'none' } } }, 'strategy none'],
    ['when the job is dead', { facts: { fresh: [podFault()] } }, 'no longer trains'],
    ['when a person wants it now', { facts: { asked: true } }, 'a person requested'],
    ['when the attempt has not proved that it trains', { facts: { stops: 1 } }, 'was not verified'],
    [
      'when no progress is reported',
      { job: { progress: undefined } as unknown as Partial<JobView> },
      'progress is not known',
    ],
  ] as const)('is no checkpoint %s', (_, given, because) => {
    expect(plan(given).plan.checkpoint).toMatchObject({ strategy: 'none', because: expect.stringContaining(because) });
  });

  it('is nothing where the trainer saves on termination: that comes after the stop', () => {
    expect(plan({ job: overrides({ checkpoint: 'on-termination' }) }).plan.checkpoint).toMatchObject({
      strategy: 'on-termination',
      atLeast: 1290,
      withinMs: 60_000,
    });
  });

  it('is an approval, by severity and number of GPUs; a person who requested the recovery has approved', () => {
    const asks = { approval: { degrading: 32, within: '10m' } };
    expect(plan({ settings: asks }).plan.approval).toEqual({
      because: 'the job is degrading and holds 32 GPUs: an approval is needed from 32 GPUs on',
      withinMs: 600_000,
      otherwise: 'deny',
    });
    expect(plan({ settings: asks, job: { gpus: 31 } }).plan.approval).toBeUndefined();
    expect(plan({ settings: asks, facts: { fresh: [podFault()] } }).plan.approval).toBeUndefined();
    expect(plan({ settings: asks, facts: { asked: true } }).plan.approval).toBeUndefined();
  });

  it('checks capacity as the job requests, and otherwise by whether it still runs', () => {
    const small = overrides({ capacity: 'shrink', minReplicas: 2, allowedSizes: [4, 2] });
    expect(plan({ job: small }).plan.capacity).toEqual({ choice: 'shrink', least: 2, allowedSizes: [4, 2] });
    expect(plan({ facts: { fresh: [podFault()] } }).plan.capacity).toEqual({ choice: 'restart', least: 4 });
    expect(plan({ settings: { capacity: { check: false } } }).plan.capacity).toBeUndefined();
  });

  it('holds no first stop that a person requested: without capacity its pods stay pending', () => {
    const operator = {
      id: 'operator/1',
      source: 'operator',
      code: 'operator/recover',
      message: 'ada asked',
      seenAt: '2026-11-21T07:09:03Z',
    } as const;
    const asked = { asked: true, fresh: [operator, degrading] };
    const holds = { capacity: { short: 'hold', dead: 'hold' } };
    expect(plan({ settings: holds, facts: asked }).plan).toMatchObject({
      severity: 'degrading',
      capacity: { choice: 'restart', least: 4 },
    });
    expect(plan({ settings: holds, facts: { ...asked, fresh: [operator] } }).plan).toMatchObject({
      severity: 'dead',
      capacity: { choice: 'restart' },
    });
    expect(plan({ job: overrides({ capacity: 'ask' }), facts: asked }).plan.capacity?.choice).toBe('restart');
    expect(plan({ settings: holds, facts: { ...asked, stops: 1 } }).plan.capacity?.choice).toBe('hold');
  });

  it('keeps the size of a job whose requested sizes cannot be used', () => {
    expect(plan({ job: overrides({ capacity: 'shrink', allowedSizes: [] }) }).plan.capacity).toEqual({
      choice: 'shrink',
      least: 4,
      allowedSizes: [],
    });
  });
});

describe('what is restarted', () => {
  const first = overrides({ level: 'pod' });

  it('is the broken pod first, where the job asks for that', () => {
    expect(plan({ job: first }).plan.level).toMatchObject({ name: 'pod', pods: ['pod-3'], withinMs: 300_000 });
  });

  it.each([
    ['pods alone were tried', { facts: { tried: [{ level: 'pod', because: 'it does not run' }] } }, 'it does not run'],
    ['there was a stop before', { facts: { stops: 1 } }, 'were tried'],
    [
      'the pod is the leading one',
      { facts: { fresh: [podFault({ pod: { name: 'llm-master-0', uid: 'pod-0', createdAt: '' } })] } },
      'is the leading pod',
    ],
    ['a person requested the whole job', { facts: { asked: true } }, 'a person requested'],
    ['its controller replaces no single pod', { job: { canStopBy: ['suspend'] } }, 'does not replace'],
  ] as const)('is the whole job when %s', (_, given, because) => {
    const job = { ...first, ...('job' in given ? given.job : {}) } as Partial<JobView>;
    expect(plan({ ...given, job }).plan.level).toMatchObject({
      name: 'job',
      because: expect.stringContaining(because),
    });
  });

  it('is nothing yet where processes are asked first, unless a node is to blame', () => {
    const inProcess = overrides({ level: 'process' });
    expect(plan({ job: inProcess, facts: { fresh: [podFault()] } }).inProcess).toMatchObject({
      beyond: 1290,
      withinMs: 120_000,
    });
    expect(plan({ job: inProcess }).inProcess).toBeUndefined();
    expect(
      plan({ job: inProcess, facts: { fresh: [podFault()], tried: [{ level: 'process', because: 'no step' }] } }),
    ).toMatchObject({
      plan: { level: { name: 'pod' } },
    });
  });

  it('suggests a remedy meanwhile, because another recovery would be refused', () => {
    const job = jobView({ progress, ...overrides({ level: 'process' }) });
    const facts = {
      attempt: { job, pods, nodes: [], undecided: [] },
      fresh: [podFault()],
      handled: [],
      stops: 0,
      attempts: 3,
      asked: false,
      now,
    };
    expect(decideRecovery(facts, settings({ mode: 'act' }))).toMatchObject({
      kind: 'hold',
      inProcess: { beyond: 1290 },
      remedy: 'wait: if that does not help, the pods are restarted, unless kcover pause prevents it',
    });
    const paused = { by: 'ada', reason: 'by hand' };
    expect(
      decideRecovery(
        { ...facts, attempt: { ...facts.attempt, paused }, tried: [{ level: 'process', because: 'no step' }] },
        settings({ mode: 'act' }),
      ),
    ).toMatchObject({
      kind: 'hold',
      because: 'paused by ada: by hand',
    });
  });
});

describe('a decision and its plan', () => {
  const facts = (job: Partial<JobView>): RecoveryFacts => ({
    attempt: { job: jobView({ progress, gpus: 32, ...job }), pods, nodes: [tainted()], undecided: [] },
    fresh: [degrading],
    handled: [],
    stops: 0,
    attempts: 3,
    asked: false,
    now,
  });

  it('records in mode observe all that it would have done', () => {
    expect(decideRecovery(facts({}), settings())).toMatchObject({
      kind: 'end',
      outcome: 'refused',
      plan: { checkpoint: { strategy: 'fresh' } },
    });
  });

  it('leaves a job alone whose mode is off, unless a person asks', () => {
    const off = facts(overrides({ mode: 'off' }));
    const act = settings({ mode: 'act' });
    expect(decideRecovery(off, act)).toMatchObject({
      kind: 'end',
      outcome: 'refused',
      because: expect.stringContaining('mode of the job is off'),
    });
    expect(decideRecovery({ ...off, asked: true }, act)).toMatchObject({
      kind: 'stop',
      plan: { level: { name: 'job' } },
    });
  });

  it('restarts a job whose training hangs, and leaves it alone when a step came since, or when it is only slow', () => {
    const hang = {
      id: 'h',
      source: 'progress',
      code: 'progress/hang',
      message: 'no step for 20m',
      seenAt: '2026-11-21T07:09:03Z',
      job: 'job-uid',
    } as const;
    const act = settings({ mode: 'act', recovery: { hang: { response: 'recover' } } });
    const stood = { ...facts({}), fresh: [hang] };
    expect(decideRecovery(stood, settings({ mode: 'act' }))).toMatchObject({
      kind: 'end',
      because: 'training hangs, which an Event has reported',
    });
    expect(decideRecovery(stood, act)).toMatchObject({ kind: 'stop', plan: { severity: 'dead' } });
    const later = facts({ progress: { ...progress, at: '2026-11-21T07:09:04Z' } });
    expect(decideRecovery({ ...later, fresh: [hang] }, act)).toMatchObject({
      kind: 'end',
      outcome: 'cancelled',
      because: 'training continues',
    });
    expect(decideRecovery({ ...stood, fresh: [{ ...hang, code: 'progress/slow' }] }, act)).toMatchObject({
      kind: 'end',
      because: 'training is slow, which an Event has reported',
    });
  });
});

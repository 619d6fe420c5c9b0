import { describe, expect, it } from '@jest/globals';
import type { RecoveryFacts } from '../../../contract/recovery/recovery.ts';
import { decideRecovery } from '../../../policy/recovery/recovery.ts';
import { jobView, kernelFault, nodeView, podFault, pods, settings, tainted } from '../../support/builders.ts';

const act = settings({ mode: 'act' });
const nodeFault = kernelFault({ quarantine: { state: 'quarantined', because: 'xid/79' } });
const facts = (more: Partial<RecoveryFacts> = {}, attempt: Partial<RecoveryFacts['attempt']> = {}): RecoveryFacts => ({
  attempt: { job: jobView(), pods, nodes: [tainted()], undecided: [], ...attempt },
  fresh: [nodeFault],
  handled: [],
  stops: 0,
  attempts: 3,
  asked: false,
  ...more,
});

describe('the next step of a recovery', () => {
  it('stops the attempt by suspend once the bad node is quarantined', () => {
    expect(decideRecovery(facts(), act)).toMatchObject({
      kind: 'stop',
      by: 'suspend',
      because: expect.stringContaining('xid/79 on gpu-3'),
    });
  });

  it.each([
    ['the job object is gone', facts({}, {}), { pods: [], nodes: [] }, 'cancelled'],
    ['it was opted out', facts(), { job: jobView({ optedIn: false }) }, 'cancelled'],
    ['it succeeded', facts(), { job: jobView({ finished: { as: 'succeeded', because: 'done' } }) }, 'cancelled'],
    [
      'its own controller failed it',
      facts(),
      { job: jobView({ finished: { as: 'failed', because: 'BackoffLimitExceeded' } }) },
      'failed',
    ],
    ['its owner suspended it', facts(), { job: jobView({ suspension: { by: 'owner' } }) }, 'cancelled'],
    ['its pods tolerate the taint', facts(), { job: jobView({ toleratesQuarantine: true }) }, 'refused'],
    [
      'it cannot be stopped without failing',
      facts(),
      { job: jobView({ canStopBy: [], restartPolicy: 'Never' }) },
      'refused',
    ],
    ['no pod of it is left on the node', facts(), { pods: pods.slice(0, 3) }, 'cancelled'],
  ] as const)('ends when %s', (name, given, attempt, outcome) => {
    const { job: _, ...rest } = given.attempt;
    const merged = name === 'the job object is gone' ? { ...rest, ...attempt } : { ...given.attempt, ...attempt };
    expect(decideRecovery({ ...given, attempt: merged }, act)).toMatchObject({ kind: 'end', outcome });
  });

  it('leaves a job alone whose deciding pod has succeeded, before its own controller reports that', () => {
    expect(decideRecovery(facts({}, { succeeded: 'llm-master-0' }), act)).toMatchObject({
      kind: 'end',
      outcome: 'cancelled',
      because: expect.stringContaining('llm-master-0 has succeeded'),
    });
  });

  it('escalates a job that counts as succeeded since its pods were deleted', () => {
    const finished = { job: jobView({ finished: { as: 'succeeded', because: 'done' } }) } as const;
    expect(decideRecovery(facts({ stops: 1, stoppedBy: 'delete-collection' }, finished), act)).toMatchObject({
      outcome: 'escalated',
    });
    expect(decideRecovery(facts({ stops: 1, stoppedBy: 'suspend' }, finished), act)).toMatchObject({
      outcome: 'restarted',
    });
  });

  it('escalates after the last allowed stop', () => {
    expect(decideRecovery(facts({ stops: 3 }), act)).toMatchObject({ kind: 'end', outcome: 'escalated' });
  });

  it('says in mode observe what it would do, and acts when a person requested it', () => {
    expect(decideRecovery(facts(), settings())).toMatchObject({
      kind: 'end',
      outcome: 'refused',
      because: expect.stringContaining('would stop 4 pods by suspend'),
    });
    expect(decideRecovery(facts({ asked: true }), settings()).kind).toBe('stop');
  });

  it('holds while a blamed node takes pods', () => {
    const held = kernelFault({ quarantine: { state: 'held', because: '2 nodes are out and 2 may be' } });
    expect(decideRecovery(facts({ fresh: [held] }, { nodes: [nodeView()] }), act)).toMatchObject({
      kind: 'hold',
      because: 'gpu-3 is not quarantined: 2 nodes are out and 2 may be',
    });
    expect(decideRecovery(facts({ fresh: [held] }, { nodes: [tainted()] }), act).kind).toBe('stop');
    expect(decideRecovery(facts({ fresh: [held] }, { nodes: [] }), act).kind).toBe('stop');
  });

  it('holds, and looks again by itself, while the workflow of a blamed node has not decided', () => {
    expect(
      decideRecovery(
        facts({ fresh: [podFault()] }, { nodes: [nodeView()], undecided: [{ node: 'gpu-3', because: 'xid/79' }] }),
        act,
      ),
    ).toMatchObject({
      kind: 'hold',
      because: 'the workflow of gpu-3 has not decided yet: xid/79',
      lookAgainMs: 1000,
    });
  });

  it('holds while a person has paused it', () => {
    expect(decideRecovery(facts({}, { paused: { by: 'ada', reason: 'network work' } }), act)).toMatchObject({
      kind: 'hold',
      remedy: 'kcover resume',
    });
  });

  it('stops by deletion where a queue owns suspend and the restart policy allows it', () => {
    expect(
      decideRecovery(facts({}, { job: jobView({ queue: 'gpu-queue', canStopBy: ['delete-collection'] }) }), act),
    ).toMatchObject({
      by: 'delete-collection',
    });
  });

  it('restarts the others when one pod failed, wherever it ran', () => {
    expect(decideRecovery(facts({ fresh: [podFault({ node: 'gpu-9' })] }, { nodes: [] }), act).kind).toBe('stop');
  });

  it('says that a node was released, where that is why nothing is needed', () => {
    const released = kernelFault({ quarantine: { state: 'released', because: 'ada' } });
    expect(decideRecovery(facts({ fresh: [released] }), act)).toMatchObject({
      kind: 'end',
      outcome: 'cancelled',
      because: 'gpu-3 was released',
    });
  });

  it('keeps waiting when a later fault does not affect the new attempt', () => {
    expect(decideRecovery(facts({ stops: 1, fresh: [kernelFault({ node: 'gpu-7' })] }), act).kind).toBe('go-on');
    expect(decideRecovery(facts({ stops: 1 }), act).kind).toBe('stop');
  });
});

describe('the failure of a pod', () => {
  const gone = podFault({ pod: { name: 'llm-worker-2', uid: 'gone', createdAt: '2026-11-21T06:00:00Z' } });
  const decide = (attempt: Partial<RecoveryFacts['attempt']>, more: Partial<RecoveryFacts> = {}) =>
    decideRecovery(facts({ fresh: [gone], ...more }, { nodes: [], ...attempt }), act);

  it.each([
    ['of those that ran beside it one is there', '2026-11-21T06:00:00Z'],
    ['one was created in the second in which it failed', '2026-11-21T07:09:03Z'],
  ])('needs a stop while %s, though it is gone itself', (_sentence, oldestPodAt) => {
    expect(decide({ oldestPodAt }).kind).toBe('stop');
  });

  it('needs a stop while a pod is there that is no younger than it, whatever the clock of its node says', () => {
    const early = { ...gone, seenAt: '2026-11-21T05:00:00Z' };
    expect(decide({ oldestPodAt: '2026-11-21T06:00:00Z' }, { fresh: [early] }).kind).toBe('stop');
  });

  it('needs a stop while one was created before it by the clock of the API server, if it failed in its first minute and the clock of its node is a little behind', () => {
    const early = podFault({ pod: { name: 'llm-worker-2', uid: 'gone', createdAt: '2026-11-21T07:09:01Z' } });
    expect(decide({ oldestPodAt: '2026-11-21T07:09:07Z' }, { fresh: [early] }).kind).toBe('stop');
  });

  it('needs nothing where its own controller replaced all pods within seconds, once it had run for a minute', () => {
    const oldestPodAt = '2026-11-21T07:09:04Z';
    const running = (createdAt: string) =>
      decide({ oldestPodAt }, { fresh: [podFault({ pod: { name: 'llm-worker-2', uid: 'gone', createdAt } })] });
    expect(running('2026-11-21T07:08:03Z')).toMatchObject({
      kind: 'end',
      because: 'all pods of the job were created after llm-worker-2 failed',
    });
    expect(running('2026-11-21T07:08:04Z').kind).toBe('stop');
  });

  it('needs nothing once all pods were created after it, as when its own controller restarted the job', () => {
    expect(decide({ oldestPodAt: '2026-11-21T07:09:30Z' })).toMatchObject({
      kind: 'end',
      outcome: 'cancelled',
      because: 'all pods of the job were created after llm-worker-2 failed',
    });
  });

  it('needs nothing once no pod that ran beside it is left', () => {
    const { pods: _, ...nothing } = facts().attempt;
    expect(decide({ ...nothing, pods: [] })).toMatchObject({ kind: 'end', outcome: 'cancelled' });
  });

  it('stops no later attempt when it is reported after the stop of its own', () => {
    const late = { fresh: [{ ...gone, seenAt: '2026-11-21T07:09:04Z' }], stops: 1 };
    expect(decide({ oldestPodAt: '2026-11-21T07:09:05Z' }, late)).toMatchObject({
      kind: 'go-on',
      because: expect.stringContaining('llm-worker-2'),
    });
    expect(
      decide(
        { oldestPodAt: '2026-11-21T07:09:05Z' },
        { ...late, fresh: [podFault({ seenAt: '2026-11-21T07:12:00Z' })] },
      ).kind,
    ).toBe('stop');
  });

  it('needs nothing once training has moved on for long, also where the pod is still there', () => {
    const at = (time: string) => ({ job: jobView({ progress: { step: 1200, at: time } }) });
    expect(decide(at('2026-11-21T07:15:00Z'), { fresh: [podFault()] })).toMatchObject({
      kind: 'end',
      outcome: 'cancelled',
      because: 'training has moved on since llm-worker-2 failed',
    });
    expect(decide(at('2026-11-21T07:13:00Z'), { fresh: [podFault()] }).kind).toBe('stop');
  });

  it('does not take the fault of its node away', () => {
    const { kind } = decide({ oldestPodAt: '2026-11-21T07:09:30Z', nodes: [tainted()] }, { fresh: [gone, nodeFault] });
    expect(kind).toBe('stop');
  });
});

describe('a node that is not ready', () => {
  const lost = kernelFault({
    id: 'node/not-ready/x',
    source: 'node',
    code: 'node/not-ready',
    quarantine: { state: 'not-ready', because: 'kubelet silent' },
  });
  const dead = nodeView({ ready: false });

  it('has its job restarted without a quarantine, because Kubernetes keeps new pods off it', () => {
    expect(decideRecovery(facts({ fresh: [lost] }, { nodes: [dead] }), act).kind).toBe('stop');
  });

  it('needs nothing once it is ready again', () => {
    expect(decideRecovery(facts({ fresh: [lost] }, { nodes: [nodeView()] }), act)).toMatchObject({
      kind: 'end',
      outcome: 'cancelled',
      because: 'gpu-3 is ready again',
    });
  });

  it('still holds the job when its pod was already asked to go and cannot', () => {
    const [stuck] = pods.slice(-1);
    const attempt = { pods: pods.slice(0, -1), terminating: stuck ? [stuck] : [], nodes: [dead] };
    expect(decideRecovery(facts({ fresh: [lost] }, attempt), act).kind).toBe('stop');
    // Whether the node returns or not, its pod will be deleted, and the job cannot continue without it.
    expect(decideRecovery(facts({ fresh: [lost] }, { ...attempt, nodes: [nodeView()] }), act).kind).toBe('stop');
    expect(decideRecovery(facts({ fresh: [lost] }, { ...attempt, nodes: [] }), act).kind).toBe('stop');
  });
});

describe('an observation that fails', () => {
  it('holds and observes again, and draws no conclusion from missing facts', () => {
    const { job: _, ...nothing } = facts().attempt;
    const unobservable = {
      ...nothing,
      pods: [],
      nodes: [],
      unobservable: 'the Kubernetes API did not answer: read node gpu-3',
    };
    expect(decideRecovery(facts({ attempt: unobservable }), act)).toMatchObject({
      kind: 'hold',
      because: 'unobservable: the Kubernetes API did not answer: read node gpu-3',
      lookAgainMs: expect.any(Number),
    });
  });

  it('of one node, by its silent agent, holds an open incident too, and no longer than the settings say', () => {
    const unobserved = podFault({ unobservable: 'the agent of gpu-3 last reported 45s ago' });
    const waiting = facts({ fresh: [unobserved], stops: 1 }, { nodes: [nodeView()] });
    expect(decideRecovery(waiting, act)).toMatchObject({
      kind: 'hold',
      because: expect.stringContaining('the agent of gpu-3'),
    });
    expect(decideRecovery({ ...waiting, heldMs: 120_000 }, act).kind).toBe('stop');
  });
});

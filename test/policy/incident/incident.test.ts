import { describe, expect, it } from '@jest/globals';
import type { IncidentFacts } from '../../../contract/job/training-job.ts';
import { decideIncident, faultsBehind, nodesInDoubt } from '../../../policy/incident/incident.ts';
import { job, kernelFault, podFault, settings } from '../../support/builders.ts';

const now = Date.parse('2026-11-21T07:09:04Z');
const quarantined = { state: 'quarantined', because: 'xid/79' } as const;
const facts = (more: Partial<IncidentFacts> = {}): IncidentFacts => ({
  job,
  faults: [],
  usage: [],
  optedInAt: '2026-11-21T06:00:00Z',
  since: now,
  now,
  ...more,
});
const usage = (...minutesAgo: number[]) =>
  minutesAgo.map((minutes, index) => ({
    incident: `i${index}`,
    startedAt: now - minutes * 60_000,
    endedAt: now - minutes * 60_000 + 1000,
  }));

describe('a requested recovery', () => {
  const byLabel = { by: 'label', reason: 'need-recovery', byLabel: true } as const;
  const asked = (...minutesAgo: number[]) =>
    usage(...minutesAgo).map((one) => ({ ...one, asked: true, byLabel: true }) as const);

  it('by label has a budget category of its own, and says when it is available again and what a person can do', () => {
    const decision = decideIncident(facts({ askedBy: byLabel, usage: asked(50, 40, 30, 20, 10) }), settings());
    expect(decision).toMatchObject({
      kind: 'refuse',
      request: true,
      until: now + 10 * 60_000,
      because: '5 recoveries in the last 1h, and 5 are allowed by label; refused: label asked: need-recovery',
      remedy: 'kcover recover pytorchjob/llm -n train --reason "..."',
    });
    expect(decideIncident(facts({ askedBy: byLabel, usage: asked(61, 40, 30, 20, 10) }), settings())).toMatchObject({
      kind: 'open',
      attribution: { asked: true, byLabel: true },
    });
  });

  it('by label counts recoveries of unrecorded cause, and neither those for faults nor those of a person', () => {
    expect(decideIncident(facts({ askedBy: byLabel, usage: usage(50, 40, 30, 20, 11) }), settings()).kind).toBe(
      'refuse',
    );
    const others = [
      ...usage(50, 40, 30).map((one) => ({ ...one, blame: 'hardware' as const })),
      ...usage(20, 15, 11).map((one) => ({ ...one, asked: true as const })),
    ];
    expect(decideIncident(facts({ askedBy: byLabel, usage: others }), settings()).kind).toBe('open');
  });

  it('by a person has no limit', () => {
    expect(
      decideIncident(facts({ askedBy: { by: 'ada', reason: 'x' }, usage: asked(50, 40, 30, 20, 10) }), settings()).kind,
    ).toBe('open');
  });

  it('by label leaves the budget of faults alone', () => {
    const fault = kernelFault({ quarantine: quarantined });
    expect(decideIncident(facts({ faults: [fault], usage: asked(50, 40, 30, 20, 10) }), settings()).kind).toBe('open');
  });

  it('by label keeps evidence once in ten minutes, unless there is a fault', () => {
    const kept = (more: Partial<IncidentFacts>) => {
      const decision = decideIncident(facts({ askedBy: byLabel, ...more }), settings());
      return decision.kind === 'open' ? decision.limits.evidenceMs : decision;
    };
    expect(kept({ usage: asked(11) })).toBe(20_000);
    expect(kept({ usage: asked(9) })).toBe(0);
    expect(kept({ usage: asked(9), faults: [kernelFault({ quarantine: quarantined })] })).toBe(20_000);
    expect(kept({ usage: asked(9), askedBy: { by: 'ada', reason: 'x' } })).toBe(20_000);
  });
});

describe('whether faults open an incident', () => {
  it('opens at once for a fault of a quarantined node', () => {
    expect(decideIncident(facts({ faults: [kernelFault({ quarantine: quarantined })] }), settings())).toMatchObject({
      kind: 'open',
    });
  });

  it('lets a pod failure wait for a fault of its node, and no longer than the correlation window', () => {
    expect(decideIncident(facts({ faults: [podFault()] }), settings())).toMatchObject({
      kind: 'wait',
      until: now + 500,
    });
    expect(decideIncident(facts({ faults: [podFault()], since: now - 500 }), settings()).kind).toBe('open');
    expect(
      decideIncident(facts({ faults: [podFault(), kernelFault({ quarantine: quarantined })] }), settings()).kind,
    ).toBe('open');
  });

  it('lets a slow node wait for others of the same verdict, but not for what a kernel log says', () => {
    const slow = kernelFault({
      id: 'preflight/1',
      source: 'preflight',
      code: 'preflight/slow',
      quarantine: quarantined,
    });
    expect(decideIncident(facts({ faults: [slow] }), settings())).toMatchObject({
      kind: 'wait',
      until: now + 500,
      because: expect.stringContaining('another node of the same verdict may follow'),
    });
    expect(decideIncident(facts({ faults: [slow], since: now - 500 }), settings()).kind).toBe('open');
    expect(decideIncident(facts({ faults: [slow, kernelFault({ quarantine: quarantined })] }), settings()).kind).toBe(
      'open',
    );
  });

  it('waits longer where the agent of the node is silent, and no longer once a node is known to be bad', () => {
    const unobservable = podFault({ unobservable: 'the agent of gpu-3 last reported 45s ago' });
    expect(decideIncident(facts({ faults: [unobservable] }), settings())).toMatchObject({
      kind: 'wait',
      until: now + 120_000,
      because: expect.stringContaining('unobservable: the agent of gpu-3 last reported 45s ago'),
    });
    expect(decideIncident(facts({ faults: [unobservable], since: now - 120_000 }), settings()).kind).toBe('open');
    expect(
      decideIncident(facts({ faults: [unobservable, kernelFault({ quarantine: quarantined })] }), settings()).kind,
    ).toBe('open');
  });

  it.each([
    ['ended before the job was opted in', { optedInAt: '2026-11-21T07:09:04Z' }],
    ['belonged to an earlier attempt', { attemptStartedAt: '2026-11-21T06:00:01Z' }],
  ])('sets a pod aside that %s', (because, more) => {
    const decision = decideIncident(facts({ faults: [podFault()], ...more }), settings());
    expect(decision.kind).toBe('nothing');
    expect(decision.dismissed[0]?.because).toContain(because);
  });

  it('treats failures from long before the first run as history, and says so', () => {
    const decision = decideIncident(facts({ faults: [podFault()], historyUntil: '2026-11-21T07:09:04Z' }), settings());
    expect(decision).toMatchObject({
      kind: 'nothing',
      dismissed: [{ notify: 'history', because: expect.stringContaining('llm-worker-2') }],
    });
    expect(
      decideIncident(facts({ faults: [podFault()], historyUntil: '2026-11-21T07:09:03Z' }), settings()).dismissed,
    ).toEqual([]);
  });

  it('does not treat a node fault as history', () => {
    const later = { historyUntil: '2026-11-21T08:00:00Z' };
    expect(
      decideIncident(facts({ faults: [kernelFault({ quarantine: quarantined })], ...later }), settings()).kind,
    ).toBe('open');
  });

  it('counts an exit in the same second as the opt-in', () => {
    expect(
      decideIncident(facts({ faults: [podFault()], optedInAt: '2026-11-21T07:09:03.900Z' }), settings()).dismissed,
    ).toEqual([]);
  });

  it('dismisses a fault whose node was released', () => {
    expect(
      decideIncident(
        facts({ faults: [kernelFault({ quarantine: { state: 'released', because: 'ada' } })] }),
        settings(),
      ).kind,
    ).toBe('nothing');
  });

  it.each([
    ['30 s after the first', [0.1], 30],
    ['60 s after the second', [20, 0.1], 60],
    ['120 s after the third', [30, 20, 0.1], 120],
    ['240 s after the fourth', [40, 30, 20, 0.1], 240],
  ])('backs off: %s', (_, minutes, seconds) => {
    const history = usage(...minutes);
    const last = history.at(-1)?.endedAt ?? 0;
    expect(decideIncident(facts({ faults: [kernelFault()], usage: history }), settings())).toMatchObject({
      kind: 'wait',
      until: last + seconds * 1000,
    });
  });

  it('never backs off longer than the limit', () => {
    const generous = settings({ recovery: { budget: { recoveries: 50 } } });
    const history = usage(59, 58, 57, 56, 55, 54, 53, 52, 0.1);
    expect(decideIncident(facts({ faults: [kernelFault()], usage: history }), generous)).toMatchObject({
      kind: 'wait',
      until: (history.at(-1)?.endedAt ?? 0) + 600_000,
    });
  });

  it('refuses the sixth recovery of an hour until the first is out of the window', () => {
    const history = usage(50, 40, 30, 20, 15);
    expect(decideIncident(facts({ faults: [kernelFault()], usage: history }), settings())).toMatchObject({
      kind: 'refuse',
      until: now + 10 * 60_000,
    });
    expect(decideIncident(facts({ faults: [kernelFault()], usage: usage(61, 40, 30, 20, 15) }), settings()).kind).toBe(
      'open',
    );
  });

  it('does what a person requests, beyond the budget and without a correlation window', () => {
    expect(
      decideIncident(
        facts({ faults: [podFault()], usage: usage(50, 40, 30, 20, 0.1), askedBy: { by: 'ada', reason: 'hung' } }),
        settings(),
      ),
    ).toMatchObject({ kind: 'open', because: 'ada asked: hung' });
  });
});

describe('training that hangs', () => {
  const hang = {
    id: 'h',
    source: 'progress',
    code: 'progress/hang',
    message: 'no step for 20m after step 1200',
    seenAt: '2026-11-21T07:09:03Z',
    job: job.uid,
  } as const;

  it('is only reported where nothing but its log says so, whatever the job wants', () => {
    const noStep = { ...hang, code: 'progress/no-step' };
    for (const response of ['notify', 'recover'] as const)
      expect(decideIncident(facts({ faults: [noStep], overrides: { hang: response } }), settings())).toMatchObject({
        kind: 'nothing',
        dismissed: [{ id: 'h', notify: 'hang' }],
      });
    expect(
      decideIncident(facts({ faults: [noStep], overrides: { hang: 'ignore' } }), settings()).dismissed[0]?.notify,
    ).toBeUndefined();
  });

  it('is only reported, unless the operator or the job wants a recovery', () => {
    expect(decideIncident(facts({ faults: [hang] }), settings())).toMatchObject({
      kind: 'nothing',
      dismissed: [{ id: 'h', notify: 'hang' }],
    });
    expect(
      decideIncident(facts({ faults: [hang], overrides: { hang: 'ignore' } }), settings()).dismissed[0]?.notify,
    ).toBeUndefined();
    expect(decideIncident(facts({ faults: [hang], overrides: { hang: 'recover' } }), settings())).toMatchObject({
      kind: 'open',
      dismissed: [],
    });
    expect(
      decideIncident(facts({ faults: [hang] }), settings({ recovery: { hang: { response: 'recover' } } })).kind,
    ).toBe('open');
  });
});

describe('training that has become slower', () => {
  it('is only reported, beside whatever else is wrong', () => {
    const slow = {
      id: 's',
      source: 'progress',
      code: 'progress/slow',
      message: 'half of the last steps took at least 2s',
      seenAt: '2026-11-21T07:09:03Z',
      job: job.uid,
    } as const;
    const dismissed = [{ id: 's', because: slow.message, notify: 'slow' }];
    expect(decideIncident(facts({ faults: [slow] }), settings())).toMatchObject({ kind: 'nothing', dismissed });
    const broken = kernelFault({ quarantine: quarantined });
    expect(decideIncident(facts({ faults: [slow, broken] }), settings())).toMatchObject({ kind: 'open', dismissed });
  });
});

describe('a job that a person has paused', () => {
  const paused = { by: 'ada', reason: 'debugging' };

  it('opens no incident, unless a person requests one', () => {
    const waiting = facts({ faults: [kernelFault({ quarantine: quarantined })], paused });
    expect(decideIncident(waiting, settings())).toMatchObject({
      kind: 'paused',
      because: expect.stringContaining('paused by ada: debugging'),
    });
    expect(decideIncident({ ...waiting, askedBy: { by: 'bob', reason: 'now' } }, settings()).kind).toBe('open');
  });
});

describe('retries that a job asks for', () => {
  it('limit the recoveries of its own code, down to none', () => {
    const crash = facts({ faults: [podFault()], since: now - 1000 });
    expect(decideIncident({ ...crash, overrides: { retries: 0 } }, settings())).toMatchObject({
      kind: 'refuse',
      because: expect.stringContaining('0 are allowed for user code'),
    });
    expect(decideIncident({ ...crash, overrides: { retries: 1 } }, settings()).kind).toBe('open');
  });
});

describe('a suppression', () => {
  const exit = podFault();
  const until = '2026-12-01T00:00:00Z';
  const own = { ignored: [], suppression: { codes: ['pod/exit', 'xid/79'], until, reason: 'exits on purpose' } };

  it('of the operator lets the faults of a job come to nothing until its end', () => {
    const suppression = { jobs: ['train/llm'], until, reason: 'experiment', owner: 'ada' };
    const given = (one: object) => settings({ faults: { suppressions: [{ ...suppression, ...one }] } });
    const faults = [kernelFault({ quarantine: quarantined })];
    expect(decideIncident(facts({ faults }), given({}))).toMatchObject({
      kind: 'nothing',
      dismissed: [{ because: `xid/79: suppressed by ada until ${until}: experiment` }],
    });
    expect(decideIncident(facts({ faults }), given({ jobs: ['train/other'] })).kind).toBe('open');
    expect(decideIncident(facts({ faults }), given({ until: '2026-11-21T07:00:00Z' })).kind).toBe('open');
    expect(decideIncident(facts({ faults }), given({ codes: ['xid/48'] })).kind).toBe('open');
  });

  it('of the job itself counts for the codes that the operator leaves to jobs', () => {
    const faults = [exit, kernelFault({ quarantine: quarantined })];
    const allowed = settings();
    const none = settings({ recovery: { jobMay: { suppression: [] } } });
    expect(decideIncident(facts({ faults, overrides: own }), allowed)).toMatchObject({
      kind: 'open',
      dismissed: [{ id: exit.id, because: `pod/exit: suppressed by train/llm until ${until}: exits on purpose` }],
    });
    expect(decideIncident(facts({ faults: [exit], overrides: own, since: now - 1000 }), none).kind).toBe('open');
  });
});

describe('the nodes on which pods failed', () => {
  it('are in doubt, each once, until a fault of the node itself is known, and at most 20 of them', () => {
    expect(nodesInDoubt([podFault(), podFault({ id: 'pod/b' }), podFault({ id: 'pod/c', node: 'gpu-4' })])).toEqual([
      'gpu-3',
      'gpu-4',
    ]);
    expect(nodesInDoubt([podFault(), kernelFault()])).toEqual([]);
    const many = Array.from({ length: 30 }, (_, n) => podFault({ id: `pod/${n}`, node: `gpu-${n}` }));
    expect(nodesInDoubt(many)).toHaveLength(20);
  });

  it('explain a failure by their own faults since that pod was created, and not by those of another job', () => {
    const failure = podFault({ pod: { name: 'llm-worker-2', uid: 'pod-3', createdAt: '2026-11-21T07:00:00Z' } });
    const [during, before, elsewhere, ofOther] = [
      kernelFault(),
      kernelFault({ id: 'kernel/boot-1/1', seenAt: '2026-11-21T06:59:59Z' }),
      kernelFault({ id: 'kernel/boot-2/1', node: 'gpu-4' }),
      kernelFault({ id: 'preflight/1', job: 'another' }),
    ];
    expect(faultsBehind([failure], [during, before, elsewhere, ofOther])).toEqual([during]);
    expect(faultsBehind([], [during])).toEqual([]);
  });
});

describe('a line of a log that a query selects', () => {
  const line = podFault({ source: 'pod-log', code: 'pod-log/nccl', message: 'a line of llm-worker-2' });

  it('is only reported, where the query asks for no restart', () => {
    expect(decideIncident(facts({ faults: [line] }), settings())).toMatchObject({
      kind: 'nothing',
      dismissed: [{ id: line.id, notify: 'line', because: 'a line of llm-worker-2' }],
    });
  });

  it('waits for a fault that explains it, and opens an incident, where it does', () => {
    const asks = { ...line, action: 'restart-app' } as const;
    expect(decideIncident(facts({ faults: [asks] }), settings())).toMatchObject({ kind: 'wait', dismissed: [] });
    const later = facts({ faults: [asks], since: now - 60_000 });
    expect(decideIncident(later, settings())).toMatchObject({ kind: 'open', dismissed: [] });
  });

  it('is nothing where training has moved on since, or the pod is of an earlier attempt', () => {
    const asks = { ...line, action: 'restart-app' } as const;
    for (const more of [
      { attemptStartedAt: '2026-11-21T08:00:00Z' },
      { progress: { step: 7, at: '2026-11-21T08:00:00Z' } },
    ])
      expect(decideIncident(facts({ faults: [asks], ...more }), settings())).toMatchObject({ kind: 'nothing' });
  });
});

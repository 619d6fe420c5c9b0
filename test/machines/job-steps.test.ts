import { describe, expect, it } from '@jest/globals';
import type { Fault } from '../../contract/faults/faults.ts';
import { incidentOf, nextRequest, requested, requestRefused } from '../../workflows/job/incident.ts';
import { toForward } from '../../workflows/job/inbox.ts';
import { firstState } from '../../workflows/job/state.ts';
import { type JobHappening, jobTransitions } from '../../workflows/job/transitions.ts';
import { nextState } from '../../workflows/state-machine.ts';
import { kernelFault } from '../support/builders.ts';

describe('what a job’s workflow remembers', () => {
  const label = { by: 'label', reason: 'need-recovery', label: true } as const;

  it('keeps what a person was promised when what a label asked for is refused', () => {
    const asked = requested(firstState(0), label);
    const { open, requests } = requestRefused({
      ...asked,
      open: incidentOf('recovery/llm/1', 1, { by: 'ada', reason: 'now' }),
    });
    expect([open?.incident, requests]).toEqual(['recovery/llm/1', []]);
  });

  it('keeps no incident of a label that was refused', () => {
    const asked = requested(firstState(0), label);
    const { open, requests } = requestRefused({ ...asked, open: incidentOf('recovery/llm/1', 1, nextRequest(asked)) });
    expect([open, requests]).toEqual([undefined, []]);
  });
});

const jobFault = (code: string): Fault => ({
  id: `${code}/uid`,
  source: 'progress',
  code,
  message: code,
  seenAt: '2026-11-21T06:00:00Z',
  job: 'uid',
});

describe('a recovery that is being started', () => {
  const incident = 'recovery/llm/1';
  const limits = { attempts: 3, holdMs: 1, stopMs: 1, restartMs: 1, placementMs: 1 };
  const decision = {
    kind: 'open',
    limits,
    attribution: { blame: 'hardware' },
    dismissed: [],
    because: 'xid/79',
    settings: 'test',
    at: 3,
  } as const;
  const play = (...events: readonly JobHappening[]) =>
    events.reduce((state, event, at) => nextState(jobTransitions, state, { ...event, at }), firstState(0));
  const opened: readonly JobHappening[] = [
    { kind: 'begun' },
    { kind: 'faultsObserved', faults: [kernelFault()], dropped: 0 },
    { kind: 'decided', decision, revision: 1, about: undefined, asked: undefined, overrides: undefined, incident },
  ];
  const startSeen: JobHappening = { kind: 'recoveryStarted', incident };

  it('is sent a fault again that changes meanwhile', () => {
    const changed = kernelFault({ quarantine: { state: 'quarantined', because: 'xid/79' } });
    expect(toForward(play(...opened, startSeen))).toEqual([]);
    expect(toForward(play(...opened, { kind: 'faultsObserved', faults: [changed], dropped: 0 }, startSeen))).toEqual([
      changed,
    ]);
  });

  it('is sent no fault that is only reported, which waits until it is over', () => {
    const slow = jobFault('progress/slow');
    const noStep = jobFault('progress/no-step');
    const line = { ...jobFault('pod-log/nccl'), source: 'pod-log' } as const;
    const hang = jobFault('progress/hang');
    const state = play(...opened, { kind: 'faultsObserved', faults: [slow, noStep, line], dropped: 0 }, startSeen, {
      kind: 'faultsObserved',
      faults: [hang],
      dropped: 0,
    });
    expect(toForward(state)).toEqual([hang]);
    const report = { incident, outcome: 'recovered', because: 'it trains', stops: 1, stopsStarted: 1 };
    const after = nextState(jobTransitions, state, {
      kind: 'recoveryEnded',
      report: { ...report, faults: [kernelFault().id, hang.id] },
      at: 9,
    });
    expect([after.phase, after.inbox]).toEqual(['deciding', [slow, noStep, line]]);
  });

  it('is over, and counts against the budget, when its report is seen before the answer that it runs', () => {
    const report = {
      incident,
      outcome: 'restarted',
      because: 'it runs',
      stops: 1,
      stopsStarted: 1,
      faults: [kernelFault().id],
    };
    const { phase, open, usage, last } = play(...opened, { kind: 'recoveryEnded', report }, startSeen);
    expect({ phase, open, usage, last }).toMatchObject({
      phase: 'watching',
      open: undefined,
      usage: [{ incident, blame: 'hardware', endedAt: 3 }],
      last: { outcome: 'restarted' },
    });
  });
});

import { describe, expect, it } from '@jest/globals';
import { JobState } from '../../workflows/job-state.ts';

describe('what a job’s workflow remembers', () => {
  const label = { by: 'label', reason: 'need-recovery', label: true } as const;

  it('keeps what a person was promised when what a label asked for is refused', () => {
    const state = new JobState();
    state.takeRequest(label);
    state.open('recovery/llm/1', 1, { by: 'ada', reason: 'now' });
    state.refuseRequest();
    expect([state.incident?.incident, state.requests]).toEqual(['recovery/llm/1', []]);
  });

  it('keeps no incident of a label that was refused', () => {
    const state = new JobState();
    state.takeRequest(label);
    state.open('recovery/llm/1', 1, state.nextRequest());
    state.refuseRequest();
    expect([state.incident, state.requests]).toEqual([undefined, []]);
  });
});

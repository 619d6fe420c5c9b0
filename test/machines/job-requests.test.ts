import { describe, expect, it } from '@jest/globals';
import { incidentOf, nextRequest, requested, requestRefused } from '../../workflows/job/incident.ts';
import { firstState } from '../../workflows/job/state.ts';

describe('what a job’s workflow remembers', () => {
  const label = { by: 'label', reason: 'need-recovery', label: true } as const;

  it('keeps what a person was promised when what a label asked for is refused', () => {
    const asked = requested(firstState(0), label);
    const { open, requests } = requestRefused({ ...asked, open: incidentOf('recovery/llm/1', 1, { by: 'ada', reason: 'now' }) });
    expect([open?.incident, requests]).toEqual(['recovery/llm/1', []]);
  });

  it('keeps no incident of a label that was refused', () => {
    const asked = requested(firstState(0), label);
    const { open, requests } = requestRefused({ ...asked, open: incidentOf('recovery/llm/1', 1, nextRequest(asked)) });
    expect([open, requests]).toEqual([undefined, []]);
  });
});

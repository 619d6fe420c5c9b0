import { describe, expect, it } from '@jest/globals';
import { JobMemory } from '../../workflows/job-memory.ts';

describe('what a job’s workflow remembers', () => {
  const label = { by: 'label', reason: 'need-recovery', label: true } as const;

  it('keeps what a person was promised when what a label asked for is refused', () => {
    const memory = new JobMemory();
    memory.wish(label);
    memory.open('recovery/llm/1', 1, { by: 'ada', reason: 'now' });
    memory.refuseRequest();
    expect([memory.incident?.incident, memory.wishes]).toEqual(['recovery/llm/1', []]);
  });

  it('keeps no incident of a label that was refused', () => {
    const memory = new JobMemory();
    memory.wish(label);
    memory.open('recovery/llm/1', 1, memory.nextWish());
    memory.refuseRequest();
    expect([memory.incident, memory.wishes]).toEqual([undefined, []]);
  });
});

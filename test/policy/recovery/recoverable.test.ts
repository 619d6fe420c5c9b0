import { describe, expect, it } from '@jest/globals';
import type { JobView } from '../../../contract/job/jobs.ts';
import { decideOptIn, whyNotRecoverable } from '../../../policy/recovery/recoverable.ts';
import { job, jobView, settings } from '../../support/builders.ts';

const unsafe = (kind: 'Job' | 'JobSet' | 'TrainJob'): JobView =>
  jobView({
    ref: { ...job, kind },
    unsafeSuspend: { because: 'its controller counts ranks', remedy: 'raise backoffLimit' },
  });
const stopping = (kind: string) => settings({ recovery: { unsafeSuspend: { [kind]: 'stop' } } });

describe.each(['Job', 'JobSet', 'TrainJob'] as const)('a %s that its own controller may fail in a stop', (kind) => {
  it('is refused, and an Event at opt-in says what to change', () => {
    expect(whyNotRecoverable(unsafe(kind), settings())).toEqual({
      because: 'its controller counts ranks',
      remedy: 'raise backoffLimit',
    });
    expect(decideOptIn(unsafe(kind), settings())).toMatchObject({
      kind: 'warn',
      because: 'kcover cannot recover this job: its controller counts ranks',
      remedy: 'raise backoffLimit',
    });
  });

  it('is recovered where the settings allow it, and an Event names the risk', () => {
    expect(whyNotRecoverable(unsafe(kind), stopping(kind))).toBeUndefined();
    expect(decideOptIn(unsafe(kind), stopping(kind))).toMatchObject({
      kind: 'warn',
      because: 'a recovery may fail this job: its controller counts ranks',
    });
  });
});

describe('a job', () => {
  it('of which ranks have succeeded is refused, for they would not run again', () => {
    const incomplete = { because: '2 of its 8 ranks have succeeded', remedy: 'create the job again' };
    expect(whyNotRecoverable(jobView({ incomplete }), settings())).toEqual(incomplete);
  });

  it('without such a risk is just watched', () => {
    expect(decideOptIn(jobView(), settings()).kind).toBe('watch');
  });
});

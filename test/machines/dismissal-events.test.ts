import { describe, expect, it } from '@jest/globals';
import { dismissalEvents } from '../../workflows/job/dismissal-events.ts';
import { job } from '../support/builders.ts';

const dismissed = (['hang', 'slow', 'line'] as const).map((notify) => ({
  id: notify,
  because: `why of ${notify}`,
  notify,
}));

describe('the Events for faults that need no recovery', () => {
  it('are one for each that is reported, under its own key, and none for the others', () => {
    expect(
      dismissalEvents(job, [...dismissed, { id: 'quiet', because: 'its node was released' }]).map(
        ({ reason, key, message }) => [reason, key, message.split(';')[0]],
      ),
    ).toEqual([
      ['TrainingHangs', 'hang', 'why of hang'],
      ['TrainingSlow', 'slow', 'why of slow'],
      ['PodLogLine', 'line', 'why of line'],
    ]);
  });

  it('are one for all failures from before the opt-in', () => {
    const history = ['a', 'b', 'c'].map((id) => ({ id, because: `${id} failed`, notify: 'history' as const }));
    expect(dismissalEvents(job, [...history, ...dismissed])).toHaveLength(4);
    expect(dismissalEvents(job, history)).toMatchObject([
      { reason: 'FailureBeforeOptIn', message: expect.stringContaining('a failed (and 2 more)') },
    ]);
  });
});

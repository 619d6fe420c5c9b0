import { describe, expect, it } from '@jest/globals';
import type { Progress, ProgressFile } from '../../contract/progress/progress.ts';
import { decideProgress } from '../../controller/progress/decide-file.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';

const day = '2026-11-21T';
const file = (writtenAt: string, more: Partial<Progress> = {}): ProgressFile => ({
  namespace: 'train',
  job: 'llm',
  rank: 0,
  writtenAt: `${day}${writtenAt}`,
  progress: { step: 1200, at: `${day}${writtenAt}`, ...more },
});
const pod = (uid: string, startedAt?: string): TrainingPod => ({
  name: uid,
  uid,
  container: 'pytorch',
  job: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job' },
  workload: 'llm',
  createdAt: '2026-11-21T06:59:00Z',
  place: { rank: 0 },
  node: 'gpu-1',
  ...(startedAt !== undefined && { startedAt: `${day}${startedAt}` }),
  present: true,
});
const now = Date.parse(`${day}07:30:00Z`);

describe('a progress file', () => {
  it.each<[sentence: string, writtenAt: string, pods: readonly TrainingPod[], expected: string]>([
    ['counts when its container ran', '07:01:00Z', [pod('a', '07:00:00Z')], 'counted a'],
    [
      'counts within a second before, for times of containers are whole seconds',
      '06:59:59.000Z',
      [pod('a', '07:00:00Z')],
      'counted a',
    ],
    ['is stale when it was written before that', '06:59:58.999Z', [pod('a', '07:00:00Z')], 'stale'],
    ['belongs to no pod where there is none', '07:01:00Z', [], 'no-pod'],
    ['is too early while no container has begun', '07:01:00Z', [pod('a')], 'not-started'],
    [
      'is of the pod that has begun last before it was written',
      '07:01:00Z',
      [pod('a', '06:50:00Z'), pod('b', '07:00:30Z'), pod('c', '07:05:00Z')],
      'counted b',
    ],
    [
      'is of the pod that goes while the next one has not begun',
      '07:01:00Z',
      [pod('a', '06:50:00Z'), pod('b')],
      'counted a',
    ],
  ])('%s', (_sentence, writtenAt, pods, expected) => {
    const decision = decideProgress(file(writtenAt), pods, now);
    expect(decision.answer === 'counted' ? `counted ${decision.pod.uid}` : decision.answer).toBe(expected);
  });

  it.each<[sentence: string, given: Partial<Progress>, expected: object, odd: readonly string[]]>([
    [
      'is believed',
      { checkpointStep: 1100, at: `${day}07:00:59Z` },
      { step: 1200, checkpointStep: 1100, at: `${day}07:00:59.000Z` },
      [],
    ],
    [
      'says what the trainer does',
      { phase: 'evaluating' },
      { step: 1200, at: `${day}07:01:00.000Z`, phase: 'evaluating' },
      [],
    ],
    [
      'may say a moment later than it was written',
      { at: `${day}07:01:59Z` },
      { step: 1200, at: `${day}07:01:59.000Z` },
      [],
    ],
    [
      'is of the time at which it was written, when it says it is of the future',
      { at: `${day}08:00:00Z` },
      { step: 1200, at: `${day}07:01:00.000Z` },
      ['clock'],
    ],
    [
      'is of the time at which it was written, when it says it is older than its container',
      { at: '1970-01-01T00:00:00Z' },
      { step: 1200, at: `${day}07:01:00.000Z` },
      ['clock'],
    ],
    [
      'has no checkpoint of a step that is not done',
      { checkpointStep: 1300 },
      { step: 1200, checkpointStep: 1200, at: `${day}07:01:00.000Z` },
      ['checkpoint-ahead'],
    ],
  ])('%s', (_sentence, given, expected, odd) => {
    expect(decideProgress(file('07:01:00Z', given), [pod('a', '07:00:00Z')], now)).toMatchObject({
      progress: expected,
      odd,
    });
  });

  it('is not believed to be of a time that is far ahead of ours, whatever the clock of its node says', () => {
    expect(decideProgress(file('09:00:00Z'), [pod('a', '08:59:00Z')], now)).toMatchObject({
      progress: { at: `${day}07:35:00.000Z` },
      odd: ['clock'],
    });
  });
});

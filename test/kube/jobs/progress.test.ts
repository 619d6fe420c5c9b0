import { describe, expect, it } from '@jest/globals';
import { progressOf, trainingNote } from '../../../kube/jobs/progress.ts';

const at = '2026-11-21T07:10:00Z';
const read = (given: Record<string, string>) =>
  progressOf({
    annotations: Object.fromEntries(Object.entries(given).map(([key, value]) => [`kcover.io/${key}`, value])),
  });

describe('the progress that a job reports', () => {
  it.each<[string, Record<string, string>, object | undefined]>([
    [
      'is its step, its checkpoint and their time',
      { step: '1200', 'checkpoint-step': '1100', 'progress-at': at },
      { step: 1200, checkpointStep: 1100, at },
    ],
    ['needs no checkpoint', { step: '0', 'progress-at': at }, { step: 0, at }],
    ['is nothing without a time', { step: '1200' }, undefined],
    ['is nothing without a step', { 'progress-at': at }, undefined],
    [
      'has no checkpoint of a step that was not reached',
      { step: '1200', 'checkpoint-step': '1201', 'progress-at': at },
      { step: 1200, at },
    ],
    ['is nothing where the step is no whole number', { step: '-1', 'progress-at': at }, undefined],
    ['is nothing where the step is too large to count', { step: '9'.repeat(16), 'progress-at': at }, undefined],
    ['is nothing where the time is none', { step: '1200', 'progress-at': '7' }, undefined],
  ])('%s', (_, annotations, progress) => {
    expect(read(annotations)).toEqual(progress);
  });

  it('is nothing where there are no annotations', () => {
    expect(progressOf({})).toBeUndefined();
    expect(progressOf(undefined)).toBeUndefined();
  });

  const note = (text: string) => read({ step: '7', 'progress-at': at, training: text });

  it('has the phase, the pace and the pod that kcover has noted', () => {
    const pod = '0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0';
    const progress = {
      step: 7,
      at,
      phase: 'evaluating',
      pace: { msPerStep: 0.5, stepsPerCheckpoint: 100, slow: { since: at, bestMsPerStep: 0.25 } },
      pod,
    } as const;
    expect(note(trainingNote(progress) ?? '')).toEqual(progress);
    expect(trainingNote({ step: 7, at })).toBeUndefined();
    expect(note(trainingNote({ step: 7, at, pod }) ?? '')).toEqual({ step: 7, at, pod });
    expect(read({ training: '{"phase":"training"}' })).toBeUndefined();
  });

  it.each<[string, string, object]>([
    ['what is no JSON', '{', {}],
    ['what is no object', 'null', {}],
    ['an unknown phase', '{"phase":"resting","pace":{"msPerStep":5}}', { pace: { msPerStep: 5 } }],
    ['a pace that stands', '{"phase":"training","pace":{"msPerStep":0}}', { phase: 'training' }],
    ['a pace that runs backwards', '{"pace":{"msPerStep":-1}}', {}],
    [
      'a slowdown without a time',
      '{"pace":{"msPerStep":5,"slow":{"since":"long ago","bestMsPerStep":2}}}',
      { pace: { msPerStep: 5 } },
    ],
    ['a slowdown without a pace', `{"pace":{"msPerStep":5,"slow":{"since":"${at}"}}}`, { pace: { msPerStep: 5 } }],
    ['a pace without end', '{"pace":{"msPerStep":1e999}}', {}],
    ['a pace of more than a week', '{"pace":{"msPerStep":604800001}}', {}],
    ['a pace in words', '{"pace":{"msPerStep":"5"}}', {}],
    ['checkpoints without end', '{"pace":{"msPerStep":5,"stepsPerCheckpoint":1e300}}', { pace: { msPerStep: 5 } }],
    ['a pod that is no UID', '{"phase":"training","pod":"a b"}', { phase: 'training' }],
    ['a pod with a longer UID than there is', `{"pod":"${'a'.repeat(65)}"}`, {}],
    ['more text than kcover writes', `{"phase":"training"${' '.repeat(500)}}`, {}],
  ])('has nothing of %s', (_, text, believed) => {
    expect(note(text)).toEqual({ step: 7, at, ...believed });
  });
});

import { describe, expect, it } from '@jest/globals';
import { readProgress } from '../../../faults/progress/progress-file.ts';

const at = '2026-11-21T07:00:00Z';
const whole = { step: 1200, checkpointStep: 1100, checkpointAt: '2026-11-21T06:55:00Z', at, phase: 'training' };
const read = (more: object) => readProgress(JSON.stringify({ step: 7, at, ...more }));

describe('a progress file', () => {
  it('is read whole', () => {
    expect(readProgress(JSON.stringify(whole))).toEqual({
      kind: 'progress',
      progress: { ...whole, at: '2026-11-21T07:00:00.000Z', checkpointAt: '2026-11-21T06:55:00.000Z' },
    });
  });

  it.each<[sentence: string, given: object, expected: object]>([
    ['needs no more than a step and its time', {}, { step: 7 }],
    ['may say null for what it does not know', { checkpointStep: null, checkpointAt: null, phase: null }, { step: 7 }],
    ['may hold more than is known', { loss: 2.5, step: 8 }, { step: 8 }],
    ['may begin at 0', { step: 0 }, { step: 0 }],
    ['may have a checkpoint of a later step: others judge that', { checkpointStep: 9 }, { step: 7, checkpointStep: 9 }],
    [
      'has times as Python writes them',
      { at: '2026-11-21T08:00:00.123456+01:00' },
      { step: 7, at: '2026-11-21T07:00:00.123Z' },
    ],
  ])('%s', (_sentence, given, expected) => {
    expect(read(given)).toEqual({ kind: 'progress', progress: { at: '2026-11-21T07:00:00.000Z', ...expected } });
  });

  it.each<[sentence: string, text: string, what: 'json' | 'content', because: string]>([
    ['may be half-written', '{"step": 12', 'json', 'it is not JSON'],
    ['may be empty', '', 'json', 'it is not JSON'],
    ['cannot hold NaN', '{"step": NaN}', 'json', 'it is not JSON'],
    ['cannot be a number', '7', 'content', 'it is not a JSON object'],
    ['cannot be null', 'null', 'content', 'it is not a JSON object'],
    ['cannot be a list', '[]', 'content', 'it is not a JSON object'],
    ['cannot lack its step', `{"at": "${at}"}`, 'content', 'step is missing'],
    ['cannot lack its time', '{"step": 7}', 'content', 'at is missing'],
    ['cannot count in halves', `{"step": 7.5, "at": "${at}"}`, 'content', 'step is not an integer from 0'],
    ['cannot count below 0', `{"step": -1, "at": "${at}"}`, 'content', 'step is not an integer from 0'],
    ['cannot count in text', `{"step": "7", "at": "${at}"}`, 'content', 'step is not an integer from 0'],
    ['cannot count beyond exact numbers', `{"step": 1e16, "at": "${at}"}`, 'content', 'step is not an integer from 0'],
    [
      'cannot have half a checkpoint',
      `{"step": 7, "checkpointStep": 0.5, "at": "${at}"}`,
      'content',
      'checkpointStep is not an integer from 0',
    ],
    [
      'cannot have a time without a zone',
      '{"step": 7, "at": "2026-11-21T07:00:00"}',
      'content',
      'at is not a time with a zone, such as 2026-11-21T07:09:03Z',
    ],
    [
      'cannot have a time in seconds',
      '{"step": 7, "at": 1795244400}',
      'content',
      'at is not a time with a zone, such as 2026-11-21T07:09:03Z',
    ],
    [
      'cannot leave the calendar by its zone',
      '{"step": 7, "at": "9999-12-31T23:59:59-01:00"}',
      'content',
      'at is not a time with a zone, such as 2026-11-21T07:09:03Z',
    ],
    [
      'cannot be in an unknown phase',
      `{"step": 7, "at": "${at}", "phase": "lunch"}`,
      'content',
      'phase is none of training, checkpointing, evaluating, compiling',
    ],
  ])('%s', (_sentence, text, what, because) => {
    expect(readProgress(text)).toEqual({ kind: 'unusable', what, because });
  });
});

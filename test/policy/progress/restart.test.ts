import { describe, expect, it } from '@jest/globals';
import { noAnswers, restartLimits } from '../../../contract/progress/restart.ts';
import { parseRestart } from '../../../contract/progress/restart.schema.ts';
import { answersInWords, answersTo, withAnswer } from '../../../policy/progress/restart.ts';

const question = {
  id: 'i#1',
  reason: 'exit code 1',
  askedAt: '2026-11-21T07:10:00Z',
  deadline: '2026-11-21T07:12:00Z',
};
const parsed = (asked: unknown, answers?: unknown) =>
  parseRestart(JSON.stringify(asked), answers === undefined ? undefined : JSON.stringify(answers));

describe('the answers of ranks', () => {
  it.each([
    ['no rank has answered', noAnswers],
    ['1 rank accepted, none is done', { accepted: [3], done: [] }],
    ['3 ranks accepted, 1 of them done', { accepted: [0, 2], done: [1] }],
    ['rank 2 refused: no memory', { accepted: [0], done: [], refused: { rank: 2, because: 'no memory' } }],
    ['rank 2 refused: it gave no reason', { accepted: [0], done: [], refused: { rank: 2, because: '' } }],
  ])('are in words: %s', (words, answers) => {
    expect(answersInWords(answers)).toBe(words);
  });

  it('do not change after a refusal, nor of a rank that is done', () => {
    const refused = { accepted: [], done: [], refused: { rank: 2, because: '' } };
    expect(withAnswer(refused, 1, { status: 'done' })).toBeUndefined();
    expect(withAnswer({ accepted: [], done: [1] }, 1, { status: 'refused' })).toBeUndefined();
    expect(withAnswer({ accepted: [1], done: [] }, 1, { status: 'accepted' })).toBeUndefined();
  });

  it('are bounded, and a refusal is noted nevertheless', () => {
    const full = { accepted: [...Array(restartLimits.ranks).keys()], done: [] };
    expect(withAnswer(full, 5000, { status: 'accepted' })).toBeUndefined();
    expect(withAnswer(full, 5000, { status: 'refused' })).toMatchObject({ refused: { rank: 5000 } });
    expect(parsed(question, { id: 'i#1', ...full })?.answers).toEqual(full);
  });
});

describe('the question on a job', () => {
  it('has the answers to it, and none to another', () => {
    expect(parsed(question)).toEqual(question);
    const answered = parsed(question, { id: 'i#1', accepted: [0], done: [1] });
    expect(answered).toEqual({ ...question, answers: { accepted: [0], done: [1] } });
    expect(answersTo('i#1', answered)).toEqual({ accepted: [0], done: [1] });
    expect(answersTo('i#2', answered)).toEqual(noAnswers);
    expect(parsed(question, { id: 'i#2', accepted: [0], done: [1] })).toEqual(question);
  });

  it.each<[string, unknown, unknown]>([
    ['a rank that is no number', question, { id: 'i#1', accepted: ['0'], done: [] }],
    ['a rank below 0', question, { id: 'i#1', accepted: [-1], done: [] }],
    ['more ranks than are noted', question, { id: 'i#1', accepted: Array(1001).fill(1), done: [] }],
    ['null', question, null],
  ])('has no answers with %s', (_what, asked, answers) => {
    expect(parsed(asked, answers)).toEqual(question);
  });

  it('is none with another time, another form or no end', () => {
    expect(parsed({ ...question, deadline: 'tomorrow' })).toBeUndefined();
    expect(parsed([question])).toBeUndefined();
    expect(parseRestart('{', undefined)).toBeUndefined();
    expect(parsed({ ...question, reason: 'x'.repeat(30_000) })).toBeUndefined();
    expect(parsed({ ...question, reason: 'a\u001B[31m\nb' })?.reason).toBe('a b');
  });
});

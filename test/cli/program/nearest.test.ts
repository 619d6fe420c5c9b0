import { describe, expect, it } from '@jest/globals';
import { nearest } from '../../../cli/program/nearest.ts';

const known = ['correlation', 'attempts', 'budget', 'stop', 'deadlines'];

describe('the word that was probably meant', () => {
  it.each([
    ['a letter too few', 'atempts', 'attempts'],
    ['two letters swapped', 'sotp', 'stop'],
    ['another case', 'Budget', 'budget'],
    ['a singular', 'deadline', 'deadlines'],
    ['something else altogether', 'webhook', undefined],
    ['a short word without a matching letter', 'cpu', undefined],
  ])('is found for %s', (_sentence, word, expected) => {
    expect(nearest(word, known)).toBe(expected);
  });
});

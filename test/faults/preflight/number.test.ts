import { describe, expect, it } from '@jest/globals';
import { numberLength, numberOfText, wholeNumberOf } from '../../../faults/preflight/number.ts';

describe('a number in a text', () => {
  it.each([
    ['5', 5],
    ['+5.', 5],
    ['-.5', -0.5],
    ['5e0', 5],
    ['5E-1', 0.5],
    ['1_000.5', 1000.5],
    ['1e-400', 0],
    ['0x1p3', 8],
    ['-0X1.8P1', -3],
    ['inf', Infinity],
    ['-Infinity', -Infinity],
    ['NaN', NaN],
  ])('%s is %d', (text, number) => expect(numberOfText(text)).toBe(number));

  it.each([
    '',
    ' 5',
    '5 ',
    'five',
    '1e',
    'e1',
    '.',
    '+',
    '1__0',
    '_1',
    '1_',
    '0x10',
    '0xp1',
    '0b1',
    '+NaN',
    'Infinit',
    '1e999',
    '5,0',
    '٥',
  ])('there is none in %j', (text) => expect(numberOfText(text)).toBeUndefined());

  it('is read up to its longest length and not beyond', () => {
    expect(numberOfText(`0.${'1'.repeat(numberLength - 2)}`)).toBeCloseTo(1 / 9);
    expect(numberOfText(`0.${'1'.repeat(numberLength - 1)}`)).toBeUndefined();
  });

  it('is whole where its value is', () => {
    expect(['3', 3, '3.0', '3e0', 3.5, 'Inf', true, null, '', [3]].map(wholeNumberOf)).toEqual([
      3,
      3,
      3,
      3,
      ...Array.from({ length: 6 }, () => undefined),
    ]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { searchAttributePairs } from '../../../contract/wire/search-attributes.ts';

/** What Temporal takes for one value; a workflow that writes more is terminated. */
const mostBytes = 2048;
const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const valueOf = (KcoverNode: readonly string[]) => searchAttributePairs({ KcoverNode })[0]?.value;

describe('search attributes', () => {
  it.each([
    ['names of EKS', (n: number) => `ip-10-123-100-${n}.us-west-2.compute.internal`],
    ['the longest names', (n: number) => `${n}-`.padEnd(253, 'x')],
    ['names that JSON makes longer', (n: number) => `${n}-`.padEnd(253, '\u0001')],
    ['names of three bytes a character', (n: number) => `${n}-`.padEnd(253, '節')],
  ])('stay below what Temporal takes, with a thousand of %s', (_, name) => {
    const names = Array.from({ length: 1000 }, (_, n) => name(n));
    const value = valueOf(names);
    expect(bytes(value)).toBeLessThan(mostBytes);
    expect(value?.length).toBeGreaterThan(0);
    expect(names.join()).toContain(String(value?.at(0)));
  });

  it('name every node of a list that fits', () => {
    const names = Array.from({ length: 20 }, (_, n) => `ip-10-123-100-${n}.us-west-2.compute.internal`);
    expect(valueOf(names)).toEqual(names);
  });

  it('cut a word', () => {
    expect(bytes(searchAttributePairs({ KcoverFault: '節'.repeat(5000) })[0]?.value)).toBeLessThan(mostBytes);
  });
});

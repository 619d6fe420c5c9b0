import { describe, expect, it } from '@jest/globals';
import { actions } from '../../../contract/faults/faults.ts';
import { catalogue, type CatalogueEntry, lookUp } from '../../../faults/kernel/catalogue.ts';

const codes = (kind: CatalogueEntry['kind']) =>
  catalogue.filter((entry) => entry.kind === kind).map((entry) => entry.code);
const span = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe('the catalogue', () => {
  it('has every Xid from 1 to 176 once', () => {
    expect(codes('xid').toSorted((one, other) => one - other)).toEqual(span(1, 176));
  });

  it('has 93 SXids, each once', () => {
    expect(new Set(codes('sxid')).size).toBe(93);
    expect(codes('sxid')).toHaveLength(93);
  });

  it('names an action of the contract in every row; only 154 leaves it to its text', () => {
    const other = catalogue.filter((entry) => !actions.some((action) => action === entry.action));
    expect(other.map((entry) => `${entry.kind}/${entry.code}`)).toEqual(['xid/154']);
  });

  it('calls a code retired exactly where its severity is unused', () => {
    expect(catalogue.filter((entry) => (entry.severity === 'unused') !== (entry.retired === true))).toEqual([]);
    expect(catalogue.filter((entry) => entry.retired)).toHaveLength(61);
  });

  it.each([
    [
      'ignore',
      [14, 37, 38, 43, 44, 45, 63, 66, 67, 92, 93, 106, 107, 108, 121, 137, 141, 152, 153, 157, ...span(160, 163)],
    ],
    [
      'restart-app',
      [
        8,
        11,
        13,
        25,
        31,
        32,
        39,
        40,
        41,
        60,
        ...span(68, 72),
        75,
        76,
        77,
        80,
        ...span(82, 86),
        88,
        89,
        94,
        ...span(96, 105),
        ...span(126, 135),
        139,
        170,
        174,
      ],
    ],
    [
      'reset-gpu',
      [46, 48, 62, 64, 74, 95, 109, 110, 119, 120, 136, 140, 143, ...span(144, 150), 155, 156, 158, 159, 171, 172],
    ],
    ['reboot', [79, 151, 167, 168, 169, 173]],
    ['contact-support', [54, 78, 142, 164, 165, 166, 175, 176]],
  ])('answers %s for exactly the Xids of that group that are still emitted', (action, group) => {
    const found = catalogue
      .filter((entry) => entry.kind === 'xid' && !entry.retired && entry.action === action)
      .map((entry) => entry.code);
    expect(found.toSorted((one, other) => one - other)).toEqual(group);
  });

  it.each([
    ['harmless', 22013, 'ignore'],
    ['of a stalled link', 20034, 'reboot'],
    ['of the whole fabric', 23001, 'reboot'],
    ['of a loose link', 20012, 'contact-support'],
    ['of a lost heartbeat', 19084, 'reset-gpu'],
  ])('knows an SXid %s', (_name, code, action) => {
    expect(lookUp('sxid', code)?.action).toBe(action);
  });

  it('does not contain other numbers', () => {
    expect([lookUp('xid', 0), lookUp('xid', 177), lookUp('sxid', 79), lookUp('xid', Number.NaN)]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

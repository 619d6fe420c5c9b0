import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { judgementOf } from '../../../faults/kernel/code-judgement.ts';
import { placeOf } from '../../../faults/kernel/place.ts';
import { recoveryActionIn } from '../../../faults/kernel/recovery-action.ts';

const warp = 'Graphics SM Warp Exception on (GPC 7, TPC 12, SM 0): Illegal Instruction Parameter';

describe('the place of a fault on its device', () => {
  it.each([
    ['a processor', 'xid/13', warp, 'GPC 7 TPC 12'],
    [
      'a processor of an old driver',
      'xid/13',
      'Graphics SM Warp Exception on (GPC 0, TPC 1): Out Of Range Address',
      'GPC 0 TPC 1',
    ],
    ['none in registers', 'xid/13', 'Graphics Exception: ESR 0x57c730=0xc04000b 0x57c734=0x24', undefined],
    ['none for another code', 'xid/43', warp, undefined],
    ['an NVLink', 'xid/74', 'NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000)', 'link 14'],
    ['a link of NVLink 5', 'xid/145', 'RLW_SRC_TRACK Nonfatal XC1 i0 Link 08 (0x040988e2)', 'link 8'],
    ['a port of a switch', 'sxid/20034', 'Fatal, Link 30 LTSSM Fault Up', 'link 30'],
    ['none where there is no link', 'xid/149', 'NETIR_LINK_EVT Fatal XC0 i0 Link -1 (0x004505c6)', undefined],
  ])('is %s', (_name, code, message, place) => {
    expect(placeOf({ code, message })).toBe(place);
  });
});

describe('parts of a message', () => {
  const pieces = fc
    .array(
      fc.oneof(
        fc.string(),
        fc.constantFrom(
          '(GPC 1',
          ', TPC ',
          'link ',
          ' to 0x',
          '0x2 (',
          ')',
          'constructor',
          'Fatal',
          'Nonfatal',
          'RLW_REMAP ',
        ),
      ),
    )
    .map((some) => some.join(''));

  it('are read without an error, and in bounds, whatever they are', () => {
    fc.assert(
      fc.property(
        pieces,
        fc.constantFrom('xid/13', 'xid/74', 'xid/149', 'xid/154', 'sxid/1', 'xid/x', ''),
        (message, code) => {
          expect(placeOf({ code, message })?.length ?? 0).toBeLessThan(40);
          expect(recoveryActionIn(message).words.length).toBeLessThanOrEqual(100);
          expect(judgementOf(code, message)?.because.length ?? 0).toBeLessThan(400);
        },
      ),
    );
  });

  it.each([
    ['xid/79', '', 'reboot'],
    ['xid/154', 'GPU recovery action changed from 0x0 (None) to 0x5 (Recover IMEX Domain)', 'restart-app'],
    ['sxid/20034', '', 'reboot'],
    ['xid/9999', '', 'contact-support'],
  ])('give %s its action without its line', (code, message, action) => {
    expect(judgementOf(code, message)?.action).toBe(action);
  });
});

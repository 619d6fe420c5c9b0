import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { faultFields, faultSchema } from '../../contract/faults/fault.schema.ts';
import { actions, faultLimits, quarantineStates, standings } from '../../contract/faults/faults.ts';
import { faultSources } from '../../contract/faults/sources.ts';
import { bytesOf } from '../../contract/wire/signal-size.ts';
import { takeFaults } from '../../workflows/faults.ts';

const fault = (more: object = {}) => ({
  id: 'kernel/boot/7',
  source: 'kernel',
  code: 'xid/79',
  message: 'm',
  seenAt: '2026-11-21T07:00:00Z',
  ...more,
});

describe('faults that arrive in a workflow', () => {
  it('are dropped when their time is longer than a time can be', () => {
    const { faults, dropped } = takeFaults({
      faults: [fault(), fault({ seenAt: `2026-11-21T07:00:00.${'1'.repeat(900_000)}Z` })],
    });
    expect(faults).toEqual([fault()]);
    expect(dropped).toBe(1);
  });

  it('stay so small that hundreds of them fit into one payload, in whatever script they are written', () => {
    for (const character of ['x', '\u20AC', '\u0001']) {
      const text = character.repeat(500);
      const heavy = fault({
        message: text,
        unobservable: text,
        quarantine: { state: 'held', because: text },
        evidence: Array.from({ length: 5 }, () => text),
      });
      const { faults } = takeFaults({ faults: [heavy] });
      expect(bytesOf(faults)).toBeLessThan(5000);
      expect(faults[0]?.message).toBe(text.slice(0, 300));
    }
  });
});

describe('the schema of a fault, and the check of a workflow that cannot load it', () => {
  const mostly = (right: fc.Arbitrary<string>, maxLength: number) =>
    fc.oneof(
      { weight: 20, arbitrary: right },
      { weight: 1, arbitrary: fc.constantFrom('', 'x'.repeat(maxLength), 'x'.repeat(maxLength + 1)) },
    );
  const text = (maxLength: number) => mostly(fc.string({ minLength: 1, maxLength, size: 'max' }), maxLength);
  const name = (maxLength: number) => mostly(fc.stringMatching(/^[\w.-]+$/, { maxLength }), maxLength);
  const time = fc
    .date({ noInvalidDate: true, min: new Date(0), max: new Date('2999-01-01') })
    .map((date) => date.toISOString());
  const most = faultLimits;
  const faults = fc.record(
    {
      id: text(most.id),
      source: fc.constantFrom(...Object.keys(faultSources)),
      code: text(most.code),
      message: text(most.message),
      seenAt: time,
      node: name(most.name),
      device: name(most.identifier),
      action: fc.constantFrom(...actions),
      standing: fc.constantFrom(...standings),
      kernel: fc.record({ bootId: name(most.identifier), sequence: fc.nat() }),
      kernelUs: fc.nat(),
      untrusted: fc.constant(true),
      pod: fc.record({ name: name(most.name), uid: name(most.identifier), createdAt: time }),
      quarantine: fc.record({ state: fc.constantFrom(...quarantineStates), because: text(most.message) }),
      job: name(most.identifier),
      namespace: name(most.namespace),
      unobservable: text(most.message),
      deadline: time,
      witnesses: fc.array(text(most.witness), { maxLength: most.witnesses + 1 }),
      suspects: fc.array(
        fc.record(
          { pod: name(most.name), node: name(most.name), rank: fc.nat(), because: text(most.witness) },
          { requiredKeys: ['pod', 'because'] },
        ),
        { maxLength: most.suspects + 1 },
      ),
      evidence: fc.array(text(most.evidenceLine), { maxLength: most.evidenceLines + 1 }),
    } satisfies Record<keyof typeof faultFields, fc.Arbitrary<unknown>>,
    { requiredKeys: ['id', 'source', 'code', 'message', 'seenAt'] },
  );

  it('let the same faults through', () => {
    let valid = 0;
    const property = fc.property(faults, (one) => {
      const { success } = faultSchema.safeParse(one);
      valid += Number(success);
      return !success || takeFaults({ faults: [one] }).dropped === 0;
    });
    fc.assert(property, { numRuns: 2000 });
    expect(valid).toBeGreaterThan(100);
  });

  it.each(Object.keys(faultFields))('both refuse a fault whose %s has another form', (field) => {
    const wrong = fault({ [field]: 7.5 });
    expect(faultSchema.safeParse(fault()).success).toBe(true);
    expect(faultSchema.safeParse(wrong).success).toBe(false);
    expect(takeFaults({ faults: [wrong] })).toEqual({ faults: [], dropped: 1 });
  });
});

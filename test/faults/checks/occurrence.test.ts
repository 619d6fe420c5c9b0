import { describe, expect, it } from '@jest/globals';
import { reportedFault } from '../../../contract/wire/reports.schema.ts';
import { checkFault } from '../../../faults/checks/check-fault.ts';
import { compareLooks, type Occurrence } from '../../../faults/checks/occurrence.ts';
import { toolFinding } from '../../../faults/tools/reading.ts';

const lost = toolFinding({ source: 'smi', code: 'smi/gpu-lost', device: '0000:5d:00', message: 'lost', because: '' });
const hot = toolFinding({ source: 'smi', code: 'smi/hw-thermal', device: '0000:5d:00', message: 'hot', because: '' });

/** Looks one after the other: `x` finds the lost GPU, `-` does not, `?` could not look at everything. The numbers of those that made a fault. */
function faultsAt(looks: string, needed = 2): readonly (readonly [look: number, since: string])[] {
  let occurrences: readonly Occurrence[] = [];
  const found: [number, string][] = [];
  for (const [at, look] of [...looks].entries()) {
    const findings = look === 'x' ? [lost] : [];
    const compared = compareLooks(occurrences, { findings, complete: look !== '?', at: String(at) }, () => needed);
    occurrences = compared.occurrences;
    found.push(...compared.due.map(({ since }): [number, string] => [at, since]));
  }
  return found;
}

describe('a finding of a check', () => {
  it.each([
    ['x', []],
    ['x-x-x', []],
    ['xx', [[1, '0']]],
    ['-xxxxx', [[2, '1']]],
    ['xx-xx', [[1, '0']]],
    [
      'xx--xx',
      [
        [1, '0'],
        [5, '4'],
      ],
    ],
    ['x?x', [[2, '0']]],
    ['xx???xx', [[1, '0']]],
    [
      'xx-?-xx',
      [
        [1, '0'],
        [6, '5'],
      ],
    ],
    ['?????', []],
  ])('in the looks %s is a fault after two in a row, and the same one until two did not find it', (looks, faults) => {
    expect(faultsAt(looks)).toEqual(faults);
  });

  it('is a fault at once where one look is enough, and later where more are needed', () => {
    expect(faultsAt('x', 1)).toEqual([[0, '0']]);
    expect(faultsAt('xxxxx', 6)).toEqual([]);
    expect(faultsAt('xxxxxxx', 6)).toEqual([[5, '0']]);
  });

  it('is counted for each device and code', () => {
    const first = compareLooks([], { findings: [lost, hot], complete: true, at: '1' }, () => 2);
    const other = { ...lost, device: '0000:9b:00' };
    const second = compareLooks(first.occurrences, { findings: [hot, other], complete: true, at: '2' }, () => 2);
    expect(second.due.map(({ finding }) => finding.code)).toEqual(['smi/hw-thermal']);
  });

  it('is kept for no more than 200 devices', () => {
    const findings = Array.from({ length: 1000 }, (_, at) => ({ ...lost, device: `gpu-${at}` }));
    expect(compareLooks([], { findings, complete: true, at: '1' }, () => 2).occurrences).toHaveLength(200);
  });

  it('becomes a fault that the controller accepts, with an id of the boot, the device and the begin', () => {
    const seenAt = '2026-11-22T10:01:00.000Z';
    const since = '2026-11-22T10:00:00.000Z';
    const bootId = '4ad6d1a9-0f7c-4a52-9c5e-2b8f5d2f5d10';
    const fault = checkFault({ finding: lost, since }, { node: 'gpu-3', bootId, seenAt });
    expect(fault.id).toBe(`smi/gpu-3/4ad6d1a9/gpu-lost/0000:5d:00/${since}`);
    expect(reportedFault.parse(fault)).toEqual(fault);
  });
});

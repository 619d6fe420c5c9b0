import { describe, expect, it } from '@jest/globals';
import type { AscendFault } from '../../faults/ascend/fault.ts';
import { foldOccurrences, isRecorded, noOccurrences, type Occurrences } from '../../faults/occurrences.ts';

const fault = (code: string, since?: string, action: 'reset-gpu' | 'ignore' = 'reset-gpu'): AscendFault => ({
  finding: {
    source: 'device-plugin',
    code: `ascend/${code}`,
    node: 'npu-1',
    device: 'Ascend910-4',
    action,
    message: code,
    because: 'a test',
  },
  ...(since !== undefined && { since }),
});
const keys = ({ standing }: Occurrences) => [...standing.values()].map(({ key }) => key);
/** The keys after each reading. */
function read(...readings: readonly (readonly AscendFault[])[]): string[][] {
  let occurrences = noOccurrences;
  return readings.map((faults) => keys((occurrences = foldOccurrences(occurrences, faults))));
}

const [early, late] = ['2026-11-22T10:00:00.000Z', '2026-11-22T11:00:00.000Z'];
const dated = [fault('80E01801', early)];
const undated = [fault('card-unhealthy')];

describe('a fault in a ConfigMap', () => {
  it('is one while it stays there, also when a restart of the plugin gives it another time', () => {
    const [[key] = [], ...others] = read(dated, dated, [fault('80E01801', late)]);
    expect(key).toBe(`Ascend910-4/80E01801/reset-gpu/${Date.parse(early)}`);
    expect(others).toEqual([[key], [key]]);
  });

  it('is the same for the next controller', () => {
    for (const faults of [dated, undated]) expect(read(faults)).toEqual(read([], faults).slice(1));
  });

  it('is another one when it comes back', () => {
    const [first, none, second] = read(dated, [], [fault('80E01801', late)]);
    expect(none).toEqual([]);
    expect(second).not.toEqual(first);
    const withoutTime = read(undated, [], undated, [], undated);
    expect(new Set(withoutTime.flat()).size).toBe(3);
  });

  it('is another one with another level', () => {
    const [first, second] = read([fault('80E01801', early, 'ignore')], dated);
    expect(second).not.toEqual(first);
  });

  it('counts once, however often it is listed', () => {
    expect(read([...dated, ...dated])[0]).toHaveLength(1);
  });

  it('is forgotten after many others, so that a plugin that invents codes fills no memory', () => {
    let occurrences = noOccurrences;
    for (let at = 0; at < 1000; at++) occurrences = foldOccurrences(occurrences, [fault(`c${at}`)]);
    expect(occurrences.ended.size).toBeLessThanOrEqual(256);
  });
});

describe('a fault that a release has recorded', () => {
  const id = 'device-plugin/u/Ascend910-4/card-unhealthy/reset-gpu';
  it('is known again by a controller that does not know how often it was gone', () => {
    expect([isRecorded([id], id), isRecorded([`${id}/again-2`], id), isRecorded([], id)]).toEqual([true, true, false]);
  });
  it('does not stand for one that came back', () => {
    expect(isRecorded([id], `${id}/again-1`)).toBe(false);
    expect(isRecorded([`${id}/1763805600000`], `${id}/1763809200000`)).toBe(false);
  });
});

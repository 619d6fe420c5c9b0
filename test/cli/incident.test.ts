import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { isWanted, quarantineOf, settleQuarantines } from '../../cli/incidents/incident.ts';
import { incidentsInRecords } from '../../cli/incidents/records.ts';

const at = (time: string): number => Date.parse(`2026-11-21T${time}Z`);
const startedQuarantine = (time: string) =>
  quarantineOf(
    'gpu-3',
    { incident: `node/gpu-3/${time}`, because: 'xid/79', by: 'kcover', since: at(time) },
    undefined,
  );
const ended = (time: string, end: string) =>
  quarantineOf(
    'gpu-3',
    { incident: `node/gpu-3/${time}`, because: 'xid/79', by: 'kcover', since: at(time) },
    { at: new Date(at(end)).toISOString(), outcome: 'released', because: 'ada: replaced' },
  );

describe('quarantines of one node', () => {
  it('are merged when reported twice, and the end counts in any order', () => {
    for (const incidents of [
      [startedQuarantine('07:00:00'), ended('07:00:00', '08:00:00')],
      [ended('07:00:00', '08:00:00'), startedQuarantine('07:00:00')],
    ])
      expect(settleQuarantines(incidents, true)).toEqual([ended('07:00:00', '08:00:00')]);
  });

  it('end when a later one replaces them: a node has one at a time', () => {
    const [newer, older] = settleQuarantines([startedQuarantine('07:00:00'), startedQuarantine('09:00:00')], true);
    expect(newer).toMatchObject({ outcome: 'open', endedAt: null });
    expect(older).toMatchObject({ outcome: 'replaced', endedAt: newer?.startedAt });
  });

  it('have an unknown end when no workflow runs for the node', () => {
    expect(settleQuarantines([startedQuarantine('07:00:00')], false)).toMatchObject([
      { outcome: 'unknown', endedAt: null },
    ]);
  });

  it('match the filter while they are open, however long ago they began', () => {
    const wanted = { since: at('12:00:00') };
    expect(isWanted(startedQuarantine('07:00:00'), wanted)).toBe(true);
    expect(isWanted(ended('07:00:00', '08:00:00'), wanted)).toBe(false);
    expect(isWanted(ended('07:00:00', '12:30:00'), wanted)).toBe(true);
    expect(isWanted(startedQuarantine('07:00:00'), { ...wanted, node: 'gpu-4' })).toBe(false);
    expect(isWanted(startedQuarantine('07:00:00'), { ...wanted, job: 'job/x' })).toBe(false);
  });
});

describe('a directory of records', () => {
  it('is read without the files that are no records, and a missing directory is an error', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'kcover-records-'));
    try {
      const record = {
        schema: 1,
        incident: 'node/gpu-3/a',
        node: 'gpu-3',
        uid: 'u',
        because: 'xid/79',
        by: 'kcover',
        quarantinedAt: '2026-11-21T07:00:00Z',
        faults: [],
      };
      writeFileSync(join(directory, 'a.json'), JSON.stringify(record));
      writeFileSync(join(directory, 'b.json'), '{"schema": 1, ');
      writeFileSync(join(directory, 'c.json'), 'null');
      writeFileSync(join(directory, 'a.json.1.part'), 'x');
      mkdirSync(join(directory, 'd.json'));
      expect(await incidentsInRecords(directory)).toMatchObject([
        { incident: 'node/gpu-3/a', about: 'gpu-3', outcome: 'unknown' },
      ]);
      await expect(incidentsInRecords(join(directory, 'nowhere'))).rejects.toMatchObject({ code: 'file.unreadable' });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

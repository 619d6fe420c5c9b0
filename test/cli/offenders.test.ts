import { describe, expect, it } from '@jest/globals';
import { fromRecord, newestFirst, withProgress } from '../../cli/incidents/incident.ts';
import { offendersIn } from '../../cli/offenders/offenders.ts';
import type { NodeRecord } from '../../contract/node/nodes.ts';

const record = (day: string, more: Partial<NodeRecord> = {}): NodeRecord => ({
  schema: 1,
  incident: `node/gpu-3/2026-11-${day}T07:00:00.000Z`,
  node: 'gpu-3',
  uid: 'u',
  systemUuid: 'machine-3',
  because: `xid/79 of day ${day}`,
  by: 'kcover',
  quarantinedAt: `2026-11-${day}T07:00:00.000Z`,
  taint: 'ours',
  faults: [],
  ...more,
});
const remediation = {
  rung: 'reset',
  attempt: 1,
  operation: 'gpu-3-abc-r1-a1',
  begunAt: '2026-11-20T07:01:00.000Z',
  endedAt: '2026-11-20T07:02:00.000Z',
  outcome: 'failed',
  because: 'in use',
} as const;
const of = (...records: NodeRecord[]) => records.map(fromRecord).toSorted(newestFirst);

describe('machines by their incidents', () => {
  it('are counted under every name of their nodes, those with most first', () => {
    const found = offendersIn(
      of(
        record('18', { node: 'gpu-4', systemUuid: 'machine-4' }),
        record('20'),
        record('19', { node: 'gpu-3-renamed' }),
        record('21', { remedy: { outcome: 'retired', because: '3 incidents' } }),
      ),
      0,
    );
    expect(found).toEqual([
      {
        machine: 'machine-3',
        nodes: ['gpu-3', 'gpu-3-renamed'],
        incidents: 3,
        last: '2026-11-21T07:00:00.000Z',
        because: 'xid/79 of day 21',
        repair: 'retired',
        retired: true,
      },
      expect.objectContaining({ machine: 'machine-4', incidents: 1, repair: null, retired: false }),
    ]);
  });

  it('leave out what a person quarantined, and what began before the time', () => {
    expect(offendersIn(of(record('20', { by: 'ada' }), record('10')), Date.parse('2026-11-15T00:00:00Z'))).toEqual([]);
  });

  it('are taken for their nodes where no machine is known', () => {
    expect(offendersIn(of(record('20', { systemUuid: '' })), 0)).toMatchObject([{ machine: null, nodes: ['gpu-3'] }]);
  });
});

describe('a quarantine that is open', () => {
  it('has the attempts and the state of its repair, which no record has yet', () => {
    const [open] = of(record('20'));
    const progress = {
      incident: open?.incident ?? '',
      phase: 'probation',
      because: 'the boot id changed',
      at: '2026-11-20T07:02:00.000Z',
      until: '2026-11-20T08:02:00.000Z',
      remediations: [remediation],
    } as const;
    expect(open && withProgress(open, progress)).toMatchObject({
      remediations: [remediation],
      remedy: { state: 'probation', because: 'the boot id changed', until: '2026-11-20T08:02:00.000Z' },
    });
    expect(open && withProgress(open, { ...progress, incident: 'node/gpu-3/other' })).toBe(open);
  });
});

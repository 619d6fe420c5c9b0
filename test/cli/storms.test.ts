import { describe, expect, it } from '@jest/globals';
import type { IncidentSummary } from '../../cli/incidents/incident.ts';
import { withStorms } from '../../cli/incidents/storms.ts';
import type { Storm } from '../../contract/cluster.ts';

const at = (minute: number) => `2026-11-21T07:${String(minute).padStart(2, '0')}:00.000Z`;
const incident = (
  about: string,
  nodes: readonly string[],
  minute: number,
  more: Partial<IncidentSummary> = {},
): IncidentSummary => ({
  incident: about,
  kind: 'quarantine',
  namespace: null,
  about,
  nodes,
  startedAt: at(minute),
  endedAt: null,
  outcome: 'open',
  because: '',
  by: 'kcover',
  endedBecause: null,
  ...more,
});
const storm: Storm = {
  id: 'storm/xid-79/rack=r7/x',
  cause: 'xid-79',
  place: 'rack=r7',
  since: Date.parse(at(10)),
  nodes: ['gpu-1', 'gpu-2'],
  quietMs: 600_000,
  until: Date.parse(at(20)),
  helped: 0,
};

describe('incidents of several nodes', () => {
  it('are followed by the quarantines and recoveries that belong to them', () => {
    const found = withStorms(
      [
        incident('train/llm', ['gpu-1'], 12, { kind: 'recovery', namespace: 'train' }),
        incident('gpu-9', ['gpu-9'], 11),
        incident('gpu-2', ['gpu-2'], 9),
        // Long before.
        incident('gpu-1', ['gpu-1'], 0, { startedAt: '2026-11-20T07:00:00.000Z' }),
      ],
      [storm],
    );
    expect(found.map(({ about, parent }) => [about, parent])).toEqual([
      ['rack=r7', null],
      ['train/llm', 'storm/xid-79/rack=r7/x'],
      ['gpu-2', 'storm/xid-79/rack=r7/x'],
      ['gpu-9', null],
      ['gpu-1', null],
    ]);
    expect(found[0]).toMatchObject({
      kind: 'storm',
      because: '2 nodes with xid-79 within minutes; their repairs wait until 2026-11-21T07:20:00.000Z at least',
    });
  });

  it('have each of these once, also where two of them began at once and share nodes', () => {
    const zone = { ...storm, place: 'zone=a', nodes: ['gpu-1', 'gpu-2', 'gpu-3'] };
    const nodes = ['gpu-1', 'gpu-2', 'gpu-3'].map((node) => incident(node, [node], 9));
    expect(withStorms(nodes, [storm, zone]).map(({ about }) => about)).toEqual([
      'rack=r7',
      'gpu-1',
      'gpu-2',
      'zone=a',
      'gpu-3',
    ]);
  });
});

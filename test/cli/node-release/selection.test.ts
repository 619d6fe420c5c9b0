import { describe, expect, it } from '@jest/globals';
import { candidates, chosen } from '../../../cli/node-release/selection.ts';
import { annotations } from '../../../contract/ids.ts';
import type { NodeStatus } from '../../../contract/node/nodes.ts';

const incidentOf = (node: string) => `node/${node}/2026-11-21T07:09:03.117Z`;
const quarantined = (name: string) => ({
  metadata: {
    name,
    annotations: { [annotations.quarantineIncident]: incidentOf(name), [annotations.quarantineReason]: 'a line' },
  },
});
const status = (node: string, phase: NodeStatus['phase'], ...codes: string[]): NodeStatus => ({
  node,
  phase,
  because: 'a line',
  since: '2026-11-21T07:09:03.117Z',
  incident: incidentOf(node),
  faults: codes.map((code) => ({ code, message: code, seenAt: '2026-11-21T07:09:03.117Z' })),
  waitingFor: '',
});
const found = candidates(
  [
    quarantined('gpu-0'),
    quarantined('gpu-1'),
    quarantined('gpu-2'),
    { metadata: { name: 'gpu-3' } },
    { metadata: { name: 'gpu-4' } },
  ],
  new Map(
    [
      status('gpu-0', 'quarantined', 'xid/31'),
      status('gpu-1', 'quarantined', 'xid/31', 'xid/79'),
      status('gpu-3', 'held', 'xid/31'),
      status('gpu-4', 'watching', 'xid/31'),
    ].map((each) => [each.node, each]),
  ),
);
const names = (selection: Parameters<typeof chosen>[1]) => chosen(found, selection).map(({ node }) => node);

describe('the nodes that a release is for', () => {
  it('are those with the mark of a quarantine, and those whose quarantine is held; a node that is only watched is none', () => {
    expect(names({ by: 'all' })).toEqual(['gpu-0', 'gpu-1', 'gpu-2', 'gpu-3']);
  });

  it('by cause: those with this cause alone; what is not known counts as another cause', () => {
    expect(names({ by: 'cause', cause: 'xid/31' })).toEqual(['gpu-0', 'gpu-3']);
    expect(names({ by: 'cause', cause: 'xid/*' })).toEqual(['gpu-0', 'gpu-1', 'gpu-3']);
    expect(names({ by: 'cause', cause: 'xid/3' })).toEqual([]);
  });

  it('by incident and by name; one that fits no node is an error, and nothing is released', () => {
    expect(names({ by: 'incident', incident: incidentOf('gpu-2') })).toEqual(['gpu-2']);
    expect(names({ by: 'names', names: ['gpu-1', 'gpu-3'] })).toEqual(['gpu-1', 'gpu-3']);
    expect(() => names({ by: 'incident', incident: 'node/gpu-9/x' })).toThrow(
      expect.objectContaining({ code: 'not-found', because: 'no node is quarantined for node/gpu-9/x' }),
    );
    expect(() => names({ by: 'names', names: ['gpu-1', 'gpu-4'] })).toThrow(
      expect.objectContaining({ code: 'not-found', because: 'node gpu-4 is not quarantined by kcover' }),
    );
  });
});

import { describe, expect, it } from '@jest/globals';
import { rowOf } from '../../cli/commands/node-list.ts';
import { annotations } from '../../contract/ids.ts';
import { workerSettings } from '../../contract/settings/settings.schema.ts';

const incident = 'node/gpu-3/2026-11-21T07:09:03.117Z';
const nothing = { marked: undefined, status: undefined, reserved: undefined };
const marked = (key: string, value: string) => ({
  metadata: {
    name: 'gpu-3',
    annotations: { [annotations.quarantineIncident]: incident, [annotations.quarantineReason]: 'xid/79 on gpu-3' },
  },
  spec: { taints: [{ key, value, effect: 'NoSchedule' }] },
});
const status = {
  node: 'gpu-3',
  phase: 'quarantined',
  because: 'xid/79 on gpu-3',
  since: '2026-11-21T07:09:04.000Z',
  incident,
  by: 'kcover',
  faults: [{ code: 'xid/79', message: 'GPU has fallen off the bus', seenAt: '2026-11-21T07:09:03.000Z' }],
  waitingFor: 'kcover node release gpu-3',
} as const;
const taintOf = (taint: object) => workerSettings.parse({ quarantine: { taint } }).quarantine.taint;

describe('a line of kcover node list', () => {
  it('reads the reason from a taint whose key is set otherwise', () => {
    const node = marked('site.example/faulty', 'xid-79');
    expect(rowOf('gpu-3', { ...nothing, marked: node, status }, taintOf({ key: 'site.example/faulty' }))).toMatchObject(
      { reason: 'xid-79', by: 'kcover' },
    );
  });

  it('shows the code of the fault where the taint has one value for every node, or is missing', () => {
    const node = marked('site.example/faulty', 'true');
    expect(
      rowOf('gpu-3', { ...nothing, marked: node, status }, taintOf({ key: 'site.example/faulty', value: 'true' }))
        .reason,
    ).toBe('xid/79');
    expect(rowOf('gpu-3', { ...nothing, marked: node, status }, taintOf({})).reason).toBe('xid/79');
  });

  it('shows a quarantined node without a workflow', () => {
    expect(rowOf('gpu-3', { ...nothing, marked: marked('kcover.io/quarantine', 'xid-79') }, taintOf({}))).toEqual({
      node: 'gpu-3',
      phase: 'quarantined, no workflow',
      reason: 'xid-79',
      because: 'xid/79 on gpu-3',
      since: '2026-11-21T07:09:03.117Z',
      by: null,
      incident,
      until: null,
      remedy: null,
      maintenance: null,
    });
  });

  it('shows a node in service whose maintenance is planned', () => {
    const maintenance = {
      node: 'gpu-3',
      phase: 'planned',
      because: 'planned by ada: driver 580',
      from: '2026-11-24T00:00:00.000Z',
      until: '2026-11-24T02:00:00.000Z',
      by: 'ada',
      reason: 'driver 580',
      waitingFor: 'its time',
      jobs: [],
    } as const;
    expect(rowOf('gpu-3', { ...nothing, maintenance }, taintOf({}))).toMatchObject({
      phase: 'in service',
      maintenance,
    });
  });

  it('shows a reservation that was neither used nor released', () => {
    const reserved = { node: 'gpu-3', nodeUid: 'u', incident, since: 0 };
    expect(rowOf('gpu-3', { ...nothing, reserved }, taintOf({}))).toMatchObject({
      phase: 'reserved, no workflow',
      incident,
    });
  });
});

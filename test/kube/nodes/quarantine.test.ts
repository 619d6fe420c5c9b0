import { describe, expect, it } from '@jest/globals';
import type { V1Node, V1Taint } from '@kubernetes/client-node';
import { hasAccelerators, historyOf, nodeView } from '../../../kube/nodes/nodes.ts';
import { clearEdit, quarantineEdit, quarantineFound, releaseEdit } from '../../../kube/nodes/quarantine.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const settings = { taint, cordon: false };
const request = { incident: 'node/gpu-3/1', reason: 'xid-79', because: 'Xid 79' };
const ours = { key: 'kcover.io/quarantine', value: 'xid-79', effect: 'NoSchedule' };
const theirs = { key: 'nvidia.com/gpu', value: 'present', effect: 'NoSchedule' };
const quarantineAnnotations = {
  'kcover.io/quarantine-incident': 'node/gpu-3/1',
  'kcover.io/quarantine-reason': 'Xid 79',
};

const node = ({
  taints,
  unschedulable,
  annotations = {},
}: { taints?: V1Taint[]; unschedulable?: boolean; annotations?: Record<string, string> } = {}): V1Node => ({
  metadata: { name: 'gpu-3', uid: 'n3', annotations },
  spec: { ...(taints && { taints }), ...(unschedulable !== undefined && { unschedulable }) },
});

describe('a quarantine', () => {
  it('adds our taint beside those of others', () => {
    expect(quarantineEdit(node({ taints: [theirs] }), request, settings)).toEqual({
      taints: [theirs, ours],
      annotations: quarantineAnnotations,
    });
  });
  it('adds the first taint of a node', () => {
    expect(quarantineEdit(node(), request, settings)?.taints).toEqual([ours]);
  });
  it('writes nothing when it stands already', () => {
    expect(
      quarantineEdit(node({ taints: [ours], annotations: quarantineAnnotations }), request, settings),
    ).toBeUndefined();
  });
  it('leaves a taint of the same key that another owner has set', () => {
    const found = node({ taints: [{ ...ours, value: 'maintenance' }] });
    expect(quarantineEdit(found, request, { taint, cordon: true })).toBeUndefined();
    expect(quarantineFound(found, settings)).toEqual({ taint: 'other', cordonedByUs: false });
  });
  it('takes over what an earlier incident of ours left', () => {
    const edit = quarantineEdit(
      node({
        taints: [{ ...ours, value: 'xid-48' }, theirs],
        annotations: { ...quarantineAnnotations, 'kcover.io/quarantine-incident': 'node/gpu-3/0' },
      }),
      request,
      settings,
    );
    expect(edit).toEqual({ taints: [theirs, ours], annotations: quarantineAnnotations });
  });
  it('puts the taint back when only our annotation is left', () => {
    expect(quarantineEdit(node({ annotations: quarantineAnnotations }), request, settings)?.taints).toEqual([ours]);
  });
  it('uses the value that settings give', () => {
    expect(quarantineEdit(node(), request, { taint: { ...taint, value: 'true' }, cordon: false })?.taints).toEqual([
      { ...ours, value: 'true' },
    ]);
  });
  it('cordons by setting, and remembers that it was us', () => {
    expect(quarantineEdit(node(), request, { taint, cordon: true })).toMatchObject({
      unschedulable: true,
      annotations: { 'kcover.io/quarantine-cordoned': 'true' },
    });
  });
  it('does not claim a cordon that was there before', () => {
    const edit = quarantineEdit(node({ unschedulable: true }), request, { taint, cordon: true });
    expect(edit?.unschedulable).toBeUndefined();
    expect(edit?.annotations).not.toHaveProperty('kcover.io/quarantine-cordoned');
  });
  it('remembers the namespace whose preflight alone asked for it, and forgets it with the next one and with the release', () => {
    const preflight = { namespace: 'team-a' };
    const before = { ...quarantineAnnotations, 'kcover.io/quarantine-preflight': 'team-a' };
    expect(quarantineEdit(node(), { ...request, preflight }, settings)?.annotations).toEqual(before);
    const marked = node({ taints: [ours], annotations: before });
    const without = { 'kcover.io/quarantine-preflight': null };
    expect(quarantineEdit(marked, { ...request, incident: 'node/gpu-3/2' }, settings)?.annotations).toMatchObject(
      without,
    );
    expect(releaseEdit(marked, request, settings).change?.annotations).toMatchObject(without);
  });
  it('is not found where the taint is missing', () => {
    expect(quarantineFound(node({ annotations: quarantineAnnotations }), settings)).toBeUndefined();
  });
});

describe('a release', () => {
  const cleared = {
    'kcover.io/quarantine-incident': null,
    'kcover.io/quarantine-reason': null,
    'kcover.io/quarantine-cordoned': null,
  };
  it('takes off our taint and no other', () => {
    expect(
      releaseEdit(node({ taints: [theirs, ours], annotations: quarantineAnnotations }), request, settings),
    ).toEqual({
      ours: true,
      change: { taints: [theirs], annotations: cleared },
    });
  });
  it('remembers the last line that was judged', () => {
    const { change } = releaseEdit(
      node({ taints: [ours], annotations: quarantineAnnotations }),
      { ...request, judged: { bootId: 'b-1', sequence: 42 } },
      settings,
    );
    expect(change?.annotations).toEqual({ ...cleared, 'kcover.io/judged': 'b-1/42' });
  });
  it('keeps what rules count, which only the node itself is asked for', () => {
    const history = [{ code: 'xid/13', device: '0000:5d:00', first: 1, last: 2 }];
    const { change } = releaseEdit(
      node({ taints: [ours], annotations: quarantineAnnotations }),
      { ...request, history },
      settings,
    );
    const written = { ...change?.annotations };
    expect(written).toEqual({ ...cleared, 'kcover.io/fault-history': JSON.stringify(history) });
    const after = node({ annotations: { 'kcover.io/fault-history': String(written['kcover.io/fault-history']) } });
    expect(historyOf(after)).toEqual({ history });
    expect(nodeView(after, taint)).not.toHaveProperty('history');
    expect(historyOf(node({ annotations: { 'kcover.io/fault-history': 'nonsense' } }))).toEqual({});
  });
  it.each([
    ['has no taint', undefined],
    ['has the taint of another owner', [ours]],
  ])('writes what was judged on a node that %s too', (_, taints) => {
    const found: V1Node = {
      ...node({ ...(taints && { taints }) }),
      status: { capacity: { 'nvidia.com/gpu': '8' }, allocatable: { 'nvidia.com/gpu': '7' } },
    };
    const history = [{ code: 'xid/13', first: 1, last: 2 }];
    expect(releaseEdit(found, { ...request, judged: { bootId: 'b-1', sequence: 42 }, history }, settings)).toEqual({
      ours: false,
      change: {
        annotations: {
          'kcover.io/judged': 'b-1/42',
          'kcover.io/judged-state': JSON.stringify({ faults: [], allocatable: { 'nvidia.com/gpu': 7 } }),
          'kcover.io/fault-history': JSON.stringify(history),
        },
      },
    });
  });
  it('uncordons only what we cordoned', () => {
    expect(
      releaseEdit(
        node({
          taints: [ours],
          unschedulable: true,
          annotations: { ...quarantineAnnotations, 'kcover.io/quarantine-cordoned': 'true' },
        }),
        request,
        settings,
      ).change?.unschedulable,
    ).toBe(false);
    expect(
      releaseEdit(node({ taints: [ours], unschedulable: true, annotations: quarantineAnnotations }), request, settings)
        .change?.unschedulable,
    ).toBeUndefined();
  });
  it('leaves the taint of another owner', () => {
    expect(releaseEdit(node({ taints: [ours] }), request, settings)).toEqual({ ours: false, change: undefined });
  });
  it('leaves what another incident put there', () => {
    expect(
      releaseEdit(
        node({
          taints: [ours],
          annotations: { ...quarantineAnnotations, 'kcover.io/quarantine-incident': 'node/gpu-3/2' },
        }),
        request,
        settings,
      ),
    ).toEqual({
      ours: false,
      change: undefined,
    });
  });
  it('removes the annotations when the taint was removed by hand', () => {
    expect(releaseEdit(node({ taints: [theirs], annotations: quarantineAnnotations }), request, settings)).toEqual({
      ours: true,
      change: { annotations: cleared },
    });
  });
});

describe('the view of a node', () => {
  it('distinguishes our taint from another of the same key', () => {
    expect(nodeView(node({ taints: [ours], annotations: quarantineAnnotations }), taint).taint).toEqual({
      value: 'xid-79',
      ours: true,
      incident: 'node/gpu-3/1',
    });
    expect(nodeView(node({ taints: [ours] }), taint).taint).toEqual({ value: 'xid-79', ours: false });
    expect(nodeView(node({ taints: [theirs], annotations: quarantineAnnotations }), taint).taint).toBeUndefined();
  });
  it('reads what was judged, and nothing out of nonsense', () => {
    expect(nodeView(node({ annotations: { 'kcover.io/judged': 'b-1/42' } }), taint).judged).toEqual({
      bootId: 'b-1',
      sequence: 42,
    });
    expect(nodeView(node({ annotations: { 'kcover.io/judged': 'b-1' } }), taint).judged).toBeUndefined();
  });
  it.each([
    ['nvidia.com/gpu', '8', true],
    ['metax-tech.com/gpu', '8', true],
    ['amd.com/gpu', '4', true],
    ['huawei.com/Ascend910', '8', true],
    ['nvidia.com/gpu', '0', false],
    ['cpu', '192', false],
    ['rdma/hca', '1', false],
  ])('%s: %s counts as an accelerator: %s', (resource, amount, counts) => {
    expect(hasAccelerators({ status: { capacity: { [resource]: amount } } })).toBe(counts);
  });
});

describe('a node that is cleared', () => {
  const judged = { 'kcover.io/judged': 'boot-1/7' };

  it('has nothing of kcover left, whichever incident set it, and keeps everything of other owners', () => {
    const found = node({
      taints: [theirs, ours],
      unschedulable: true,
      annotations: { ...quarantineAnnotations, ...judged, 'kcover.io/quarantine-cordoned': 'true', theirs: 'x' },
    });
    expect(clearEdit(found, settings)).toEqual({
      taints: [theirs],
      unschedulable: false,
      annotations: {
        'kcover.io/quarantine-incident': null,
        'kcover.io/quarantine-reason': null,
        'kcover.io/quarantine-cordoned': null,
        'kcover.io/judged': null,
      },
    });
  });
  it('loses what a release keeps', () => {
    expect(clearEdit(node({ annotations: judged }), settings)).toEqual({ annotations: { 'kcover.io/judged': null } });
  });
  it('is not written where nothing is ours, not even a taint of our key', () => {
    expect(clearEdit(node({ taints: [ours], unschedulable: true }), settings)).toBeUndefined();
  });
  it('keeps a taint of our key without our annotation, though it was judged once', () => {
    expect(clearEdit(node({ taints: [ours], annotations: judged }), settings)).toEqual({
      annotations: { 'kcover.io/judged': null },
    });
  });
});

import { describe, expect, it } from '@jest/globals';
import { controllerSettings } from '../../../contract/settings/settings.schema.ts';
import { judgeOutages, type Outage } from '../../../policy/node/readiness.ts';

const settings = controllerSettings.parse({ nodes: { notReady: '30s' } }).nodes;
const outage = (node: string, since: number): Outage => ({
  node,
  uid: `uid-${node}`,
  transition: '2026-11-21T07:00:00Z',
  because: 'NodeStatusUnknown: Kubelet stopped posting node status.',
  since,
});

describe('nodes that are not ready', () => {
  it('count once they have been not ready for the whole time, and the others are checked when they are due', () => {
    const { faults, lookAt, unobservable } = judgeOutages(
      [outage('gpu-1', 0), outage('gpu-2', 10_000)],
      12,
      30_000,
      settings,
    );
    expect(faults).toEqual([
      expect.objectContaining({ id: 'node/not-ready/uid-gpu-1/2026-11-21T07:00:00Z', node: 'gpu-1', source: 'node' }),
    ]);
    expect(faults[0]?.message).toContain('Kubelet stopped posting');
    expect({ lookAt, unobservable }).toEqual({ lookAt: 40_000, unobservable: undefined });
  });

  it('are taken for a stale view of the cluster when many are not ready at once', () => {
    const all = ['gpu-1', 'gpu-2', 'gpu-3'].map((node) => outage(node, 0));
    const verdict = judgeOutages(all, 14, 60_000, settings);
    expect(verdict.faults).toEqual([]);
    expect(verdict.unobservable).toContain('more than 20%');
    expect(judgeOutages(all, 15, 60_000, settings).faults).toHaveLength(3);
  });

  it('count where there are only one or two', () => {
    expect(judgeOutages([outage('gpu-1', 0)], 1, 30_000, settings).faults).toHaveLength(1);
    expect(judgeOutages([outage('gpu-1', 0), outage('gpu-2', 0)], 2, 30_000, settings).faults).toHaveLength(2);
  });
});

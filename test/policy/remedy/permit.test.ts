import { describe, expect, it } from '@jest/globals';
import { whyNoRepair } from '../../../policy/remedy/permit.ts';
import { nodeView, settings } from '../../support/builders.ts';

const incident = 'node/gpu-3/2026-11-21T07:09:03.117Z';
const node = nodeView({ taint: { value: 'xid-79', ours: true, incident } });
const remediation = { mode: 'run' };
const repairing = settings({ mode: 'act', remediation });
const others = (count: number, notReady: number) =>
  Array.from({ length: count }, (_, index) => ({ ready: index >= notReady }));
const facts = { node, uid: 'node-3', incident, others: others(8, 0) };

describe('a remedy', () => {
  it('may act on a node that its own incident quarantined', () => {
    expect(whyNoRepair(facts, repairing)).toBeUndefined();
  });

  it.each([
    ['the mode is observe', facts, settings({ remediation }), 'refused'],
    ['remediation was switched off', facts, settings({ mode: 'act' }), 'refused'],
    ['many other nodes are not ready at once', { ...facts, others: others(8, 3) }, repairing, 'refused'],
    ['the node is gone', { ...facts, node: undefined }, repairing, 'over'],
    ['another node has its name', { ...facts, uid: 'other' }, repairing, 'over'],
    ['its taint is gone', { ...facts, node: nodeView() }, repairing, 'over'],
    [
      'its taint is not ours',
      { ...facts, node: nodeView({ taint: { value: 'x', ours: false } }) },
      settings({ remediation }),
      'over',
    ],
    ['another incident quarantined it', { ...facts, incident: 'node/gpu-3/x' }, repairing, 'over'],
  ] as const)('may not when %s', (_name, given, settingsThen, kind) => {
    expect(whyNoRepair(given, settingsThen)).toEqual({ kind, because: expect.any(String) });
  });

  it.each([
    [2, 2],
    [20, 4],
  ])('may when of %i other nodes %i are not ready', (count, notReady) => {
    expect(whyNoRepair({ ...facts, others: others(count, notReady) }, repairing)).toBeUndefined();
  });
});

import { describe, expect, it } from '@jest/globals';
import { decideNode } from '../../../policy/node/node.ts';
import { kernelFault, nodeView, settings } from '../../support/builders.ts';

const command = { kind: 'command', command: ['/bin/true'] };
const ladders = [
  { name: 'bus', codes: ['xid/79'], rungs: [{ hook: 'power', timeout: '10m', verify: 'diag' }] },
  { name: 'rest', codes: ['xid/*'], rungs: [{ hook: 'reset', attempts: 2, proof: ['result'] }], release: 'verified' },
];
const repairing = (more: object = {}, remediation: object = {}) =>
  settings({
    mode: 'act',
    remediation: { mode: 'run', hooks: { reset: command, power: command, diag: command }, ladders, ...remediation },
    ...more,
  });
const ladderOf = (fault: Parameters<typeof kernelFault>[0], given = repairing()) =>
  decideNode({ node: nodeView(), faults: [kernelFault(fault)] }, given).ladder;

describe('the ladder of a quarantine', () => {
  it('is the first that fits the fault, with all that its repair needs', () => {
    expect(ladderOf({ code: 'xid/79' }, repairing({}, { drain: '5m' }))).toEqual({
      name: 'bus',
      because: 'ladder bus is for xid/79',
      rungs: [{ hook: 'power', attempts: 1, timeoutMs: 600_000, proof: ['result', 'ready'], verify: 'diag' }],
      probationMs: 3_600_000,
      release: 'person',
      retireAt: 3,
      memoryMs: 28 * 86_400_000,
      drainMs: 300_000,
    });
    expect(ladderOf({ code: 'xid/48', action: 'reset-gpu' })).toMatchObject({ name: 'rest', release: 'verified' });
  });

  it.each([
    ['remediation is off, as it is by default', {}, repairing({}, { mode: 'off' })],
    ['no ladder is for the code', { code: 'sxid/20034', action: 'reboot' }, repairing()],
    ['the fault only asks a person', { code: 'xid/999', action: 'contact-support', standing: 'unknown' }, repairing()],
    ['others than the node may have written the line', { untrusted: true }, repairing()],
    ['the fault quarantines nothing', { code: 'xid/13', action: 'restart-app' }, repairing()],
  ] as const)('is none where %s', (_name, fault, given) => {
    expect(ladderOf(fault, given)).toBeUndefined();
  });

  it("is none for what only a tenant's preflight says, and for a person's request", () => {
    const all = repairing({}, { ladders: [{ ...ladders[1], codes: ['preflight/*'] }] });
    const slow = { id: 'p', source: 'preflight', code: 'preflight/slow-node', namespace: 'team-a' } as const;
    const { action: _, kernel: __, ...bare } = kernelFault(slow);
    const decision = decideNode({ node: nodeView(), faults: [bare] }, all);
    expect(decision).toMatchObject({ kind: 'quarantine', preflight: { namespace: 'team-a' } });
    expect(decision.ladder).toBeUndefined();
    const asked = decideNode(
      { node: nodeView(), faults: [kernelFault()], askedBy: { by: 'ada', reason: 'x' } },
      repairing(),
    );
    expect(asked.ladder).toBeUndefined();
  });
});

import { describe, expect, it } from '@jest/globals';
import { decideNode } from '../../../policy/node/node.ts';
import { kernelFault, nodeView, settings } from '../../support/builders.ts';

const act = settings({ mode: 'act' });

describe('what a fault means for its node', () => {
  it.each([
    [
      'a GPU off the bus must be rebooted, so the node is quarantined',
      { code: 'xid/79', action: 'reboot' },
      'quarantine',
    ],
    [
      'a double-bit error needs a GPU reset, so the node is quarantined',
      { code: 'xid/48', action: 'reset-gpu' },
      'quarantine',
    ],
    ['a code for support is quarantined', { code: 'xid/54', action: 'contact-support' }, 'quarantine'],
    ['an application error is only recorded', { code: 'xid/13', action: 'restart-app' }, 'record'],
    ['an ignorable code is only recorded', { code: 'xid/43', action: 'ignore' }, 'record'],
    [
      'a retired code warns, whatever its table says',
      { code: 'xid/61', action: 'contact-support', standing: 'retired' },
      'warn',
    ],
    [
      'a kubelet that no longer answers has its jobs restarted, and the node left to Kubernetes',
      { code: 'node/not-ready' },
      'restart',
    ],
    ['a code for which no table names an action warns', { code: 'preflight/other' }, 'warn'],
  ] as const)('%s', (_name, fault, kind) => {
    const { action: _, ...bare } = kernelFault();
    const given = 'action' in fault ? kernelFault(fault) : { ...bare, ...fault };
    expect(decideNode({ node: nodeView(), faults: [given] }, act).kind).toBe(kind);
  });

  it.each(['ignore', 'restart-app', 'reset-gpu', 'reboot', 'contact-support', undefined] as const)(
    'never quarantines for what a container log says, whatever should be done about it: %s',
    (action) => {
      const { action: _, ...fault } = kernelFault({ source: 'log', code: 'log/cuda-ecc' });
      const found = { ...fault, ...(action !== undefined && { action }) };
      expect(['record', 'warn']).toContain(decideNode({ node: nodeView(), faults: [found] }, act).kind);
    },
  );

  it.each([{}, { 'xid/79': 'quarantine' }] as const)(
    'only asks a person where others than the node may have written the line, whatever the settings say of it: %j',
    (codes) => {
      const faults = [kernelFault({ id: 'loki', untrusted: true })];
      const strict = settings({ mode: 'act', faults: { codes } });
      expect(decideNode({ node: nodeView(), faults }, strict)).toMatchObject({ kind: 'quarantine', asks: true });
      const both = decideNode({ node: nodeView(), faults: [...faults, kernelFault({ id: 'agent' })] }, strict);
      expect(both.kind).toBe('quarantine');
      expect(both).not.toHaveProperty('asks');
    },
  );

  it('applies a site rule for a code before anything else', () => {
    const strict = settings({ mode: 'act', faults: { codes: { 'xid/13': 'quarantine', 'xid/79': 'record' } } });
    expect(
      decideNode({ node: nodeView(), faults: [kernelFault({ code: 'xid/13', action: 'restart-app' })] }, strict).kind,
    ).toBe('quarantine');
    expect(decideNode({ node: nodeView(), faults: [kernelFault()] }, strict).kind).toBe('record');
  });

  it('takes the strongest of several faults, and keeps them all', () => {
    const decision = decideNode(
      {
        node: nodeView(),
        faults: [kernelFault({ id: 'a', code: 'xid/43', action: 'ignore' }), kernelFault({ id: 'b' })],
      },
      act,
    );
    expect(decision).toMatchObject({ kind: 'quarantine', reason: 'xid-79' });
    expect(decision.faults.map((fault) => fault.id)).toEqual(['a', 'b']);
  });

  it('names the codes of other faults that call for something, a few of them', () => {
    const because = (...codes: string[]) =>
      decideNode(
        {
          node: nodeView(),
          faults: codes.map((code, index) => kernelFault({ id: `fault-${index}`, code, action: 'reset-gpu' })),
        },
        act,
      ).because;
    expect(because('xid/48', 'xid/48')).not.toContain('also');
    expect(because('xid/48', 'xid/95', 'xid/95')).toMatch(/; also xid\/95$/);
    expect(because('xid/48', 'a/1', 'a/2', 'a/3', 'a/4', 'a/5')).toMatch(/; also a\/1, a\/2, a\/3 and 2 more$/);
  });

  it('names the namespace whose preflight is the only reason', () => {
    const tested = kernelFault({
      id: 'preflight/a',
      source: 'preflight',
      code: 'preflight/slow-node',
      namespace: 'team-a',
    });
    const warned = kernelFault({ id: 'kernel/boot-1/1', code: 'xid/13', action: 'restart-app' });
    expect(decideNode({ faults: [tested, warned] }, act)).toMatchObject({
      kind: 'quarantine',
      preflight: { namespace: 'team-a' },
    });
    expect(decideNode({ faults: [tested, kernelFault()] }, act)).not.toHaveProperty('preflight');
    expect(decideNode({ faults: [tested], askedBy: { by: 'ada', reason: 'slow' } }, act)).not.toHaveProperty(
      'preflight',
    );
  });

  it('only reports in mode observe', () => {
    expect(decideNode({ node: nodeView(), faults: [kernelFault()] }, settings()).kind).toBe('observe');
  });

  it('ignores lines up to the last one taken into account in the same boot', () => {
    const at = (sequence: number, bootId = 'boot-1') =>
      decideNode({ node: nodeView({ judged: { bootId, sequence } }), faults: [kernelFault()] }, act);
    expect(at(100)).toMatchObject({ kind: 'record', faults: [] });
    expect(at(99).kind).toBe('quarantine');
    expect(at(5000, 'boot-0').kind).toBe('quarantine');
  });

  it('does what a person requests, in mode observe too', () => {
    expect(
      decideNode({ node: nodeView(), faults: [], askedBy: { by: 'ada', reason: 'loose cable' } }, settings()),
    ).toMatchObject({
      kind: 'quarantine',
      reason: 'operator',
      because: 'ada asked: loose cable',
    });
  });

  it('quarantines no node for its storage, which others share, unless the settings say so', () => {
    const storage = kernelFault({
      source: 'preflight',
      code: 'preflight/storage-check',
      message: 'its storage check failed',
    });
    const { action: _, standing: __, ...check } = storage;
    expect(decideNode({ node: nodeView(), faults: [check] }, act)).toMatchObject({
      kind: 'warn',
      remedy: expect.stringContaining('kcover node quarantine gpu-3'),
    });
    expect(
      decideNode({ node: nodeView(), faults: [check] }, settings({ mode: 'act', preflight: { storage: 'quarantine' } }))
        .kind,
    ).toBe('quarantine');
    expect(decideNode({ node: nodeView(), faults: [{ ...check, code: 'preflight/gpu-check' }] }, act).kind).toBe(
      'quarantine',
    );
  });

  it('keeps new pods off a node with an unknown code, leaves its jobs alone, and asks a person', () => {
    const unknown = kernelFault({ code: 'xid/999', action: 'contact-support', standing: 'unknown' });
    const decision = decideNode({ faults: [unknown] }, act);
    expect(decision).toMatchObject({
      kind: 'quarantine',
      asks: true,
      because: expect.stringMatching(/a person must decide$/),
    });
    expect(decideNode({ faults: [unknown, kernelFault({ id: 'b' })] }, act)).not.toHaveProperty('asks');
    expect(decideNode({ faults: [unknown] }, settings({ faults: { responses: { unknown: 'warn' } } })).kind).toBe(
      'warn',
    );
  });

  it('names the command where it leaves the decision to a person', () => {
    expect(
      decideNode({ node: nodeView(), faults: [kernelFault({ code: 'xid/999', standing: 'unknown' })] }, act).remedy,
    ).toBe('kcover node quarantine gpu-3 --reason "xid/999"');
  });
});

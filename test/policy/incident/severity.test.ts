import { describe, expect, it } from '@jest/globals';
import type { Fault } from '../../../contract/faults/faults.ts';
import type { Severity } from '../../../contract/recovery/plan.ts';
import { kernelFault } from '../../../faults/kernel/from-kernel.ts';
import { severityOf } from '../../../policy/incident/severity.ts';
import { kernelFault as fault, nodeView, podFault, pods } from '../../support/builders.ts';

const there = { pods, nodes: [nodeView()] };
const xid = (code: number, more: Partial<Fault> = {}) => fault({ code: `xid/${code}`, action: 'reset-gpu', ...more });
const seen = (source: Fault['source'], code: string, more: Partial<Fault> = {}): Fault => ({
  id: code,
  source,
  code,
  message: 'm',
  seenAt: '2026-11-21T07:09:03Z',
  ...more,
});
const notReady = seen('node', 'node/not-ready', { node: 'gpu-3' });
const asked = seen('operator', 'operator/recover');
const slow = seen('preflight', 'preflight/slow-node', { node: 'gpu-3' });
const gpuCheck = seen('preflight', 'preflight/gpu-check', { node: 'gpu-3' });

/** The fault of a line as the agent reports it. */
function line(text: string): Fault {
  const found = kernelFault({
    line: text,
    position: { bootId: 'b', sequence: 1 },
    node: 'gpu-3',
    seenAt: '2026-11-21T07:09:03Z',
    evidence: [],
  });
  if (!found) throw new Error(`this line means nothing: ${text}`);
  return found;
}

describe('the severity of faults', () => {
  it.each<[string, readonly Fault[], Severity]>([
    ['a pod that failed has the others wait', [podFault()], 'dead'],
    ['a pod that was evicted too', [podFault({ code: 'pod/evicted' })], 'dead'],
    ['training that hangs makes no step', [seen('progress', 'progress/hang')], 'dead'],
    ['a person requested it, and nothing else is known', [asked], 'dead'],
    ['nothing is known at all', [], 'dead'],
    ['a GPU has fallen off the bus', [xid(79)], 'dead'],
    ['the same without an Xid', [line('NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus.')], 'dead'],
    ['the same by nvidia-smi', [seen('smi', 'smi/gpu-lost', { node: 'gpu-3', action: 'reboot' })], 'dead'],
    ['a GPU that waits for a row to be remapped', [seen('smi', 'smi/rows-pending', { node: 'gpu-3' })], 'degrading'],
    ['an uncorrectable memory error ends its processes', [xid(48)], 'dead'],
    ['so does one that is contained', [xid(94, { action: 'restart-app' })], 'dead'],
    ['and one that is not', [xid(95)], 'dead'],
    ['a GPU whose firmware does not answer', [xid(119)], 'dead'],
    ['an error of the application needs a new start of it', [xid(13, { action: 'restart-app' })], 'dead'],
    [
      'a switch with a fatal error',
      [line('nvidia-nvswitch0: SXid (PCI:0000:c2:00.0): 20034, Fatal, Link 30 LTSSM Fault Up')],
      'dead',
    ],
    ['a switch whose links get worse', [fault({ code: 'sxid/20009', action: 'contact-support' })], 'degrading'],
    ['a memory row that could not be replaced yet', [xid(64)], 'degrading'],
    ['a link that fails', [xid(74)], 'degrading'],
    ['an unknown code', [xid(4711, { action: 'contact-support', standing: 'unknown' })], 'degrading'],
    [
      'the driver says that the GPU must be reset',
      [
        line(
          'NVRM: Xid (PCI:0000:5d:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)',
        ),
      ],
      'dead',
    ],
    [
      'the driver says that work may end first',
      [line('NVRM: Xid (PCI:0000:5d:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)')],
      'degrading',
    ],
    ['a node that failed its tests otherwise than by being slow', [gpuCheck], 'degrading'],
    ['a slow node', [slow], 'slow'],
    ['a person asks because of a slow node', [asked, slow], 'slow'],
    ['the worst counts: degrading before slow', [slow, xid(74)], 'degrading'],
    ['the worst counts: dead before all', [slow, xid(74), xid(79)], 'dead'],
  ])('%s', (_, faults, severity) => {
    expect(severityOf(faults, there).severity).toBe(severity);
    expect(severityOf(faults.toReversed(), there).severity).toBe(severity);
  });

  it('treats pods on a node that is not ready as dead, whatever the fault', () => {
    const gone = { pods, nodes: [nodeView({ ready: false })] };
    expect(severityOf([notReady], gone).severity).toBe('dead');
    expect(severityOf([slow], gone)).toEqual({
      severity: 'dead',
      because: 'preflight/slow-node on gpu-3: gpu-3 is not ready',
    });
    expect(severityOf([slow], { ...gone, pods: pods.slice(0, 3) }).severity).toBe('slow');
    expect(severityOf([notReady], { pods, nodes: [] }).severity).toBe('dead');
  });

  it('does not give up pods on a node that is ready again', () => {
    expect(severityOf([notReady], there)).toEqual({
      severity: 'degrading',
      because: 'node/not-ready on gpu-3: gpu-3 is ready again',
    });
  });

  it('treats a job without pods as dead', () => {
    expect(severityOf([slow], { pods: [], nodes: [] })).toEqual({
      severity: 'dead',
      because: 'no pod of the job is left',
    });
  });

  it('names the fault that decided', () => {
    expect(severityOf([slow, xid(79)], there).because).toBe('xid/79 on gpu-3: processes can no longer reach this GPU');
    expect(severityOf([asked], there).because).toBe('a person requested it, and nothing else is known');
  });
});

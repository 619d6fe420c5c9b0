import { describe, expect, it } from '@jest/globals';
import { reportedFault } from '../../../contract/wire/reports.schema.ts';
import { kernelFault, type ObservedKernelLine } from '../../../faults/kernel/from-kernel.ts';

const bootId = '844bd287-5147-4c87-9219-c36a976b4900';
const observed = (line: string, more: Partial<ObservedKernelLine> = {}): ObservedKernelLine => ({
  line,
  position: { bootId, sequence: 1234 },
  node: 'gpu-3',
  seenAt: '2026-11-21T09:15:12.000Z',
  evidence: [],
  ...more,
});

describe('a kernel line as a fault', () => {
  it('has position, device, action, and the lines around it', () => {
    expect(
      kernelFault(
        observed('4,1234,5,-;NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.', {
          evidence: ['4,1233,4,-;pcieport: link down'],
        }),
      ),
    ).toEqual({
      id: `kernel/${bootId}/1234`,
      source: 'kernel',
      code: 'xid/79',
      message: 'GPU has fallen off the bus.',
      seenAt: '2026-11-21T09:15:12.000Z',
      node: 'gpu-3',
      device: '0000:5d:00',
      action: 'reboot',
      standing: 'current',
      kernel: { bootId, sequence: 1234 },
      evidence: ['pcieport: link down', 'NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.'],
    });
  });

  it.each([
    ['sxid/20034', 'nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30'],
    ['kernel/gpu-off-bus', 'NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus.'],
    ['kernel/peermem', 'nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping'],
  ])('has the code %s', (code, line) => {
    expect(kernelFault(observed(line))?.code).toBe(code);
  });

  it('is none for a line that means nothing', () => {
    expect(kernelFault(observed('hello'))).toBeUndefined();
  });

  it('leaves the device out where the line names none', () => {
    expect(kernelFault(observed('NVRM: Xid: 79, gone'))).not.toHaveProperty('device');
  });

  it('keeps every limit of the contract, whatever the line holds', () => {
    const fault = kernelFault(
      observed(`NVRM: Xid (PCI:0000:5d:00): 79, ${'\u0000😀'.repeat(5000)}`, {
        evidence: Array.from({ length: 50 }, () => 'y'.repeat(9999)),
      }),
    );
    expect(reportedFault.safeParse(fault).error).toBeUndefined();
  });
});

/** Small seeded generator (mulberry32): the same inputs in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('any line at all', () => {
  const pieces = [
    'NVRM: ',
    'Xid ',
    'SXid ',
    '(PCI:0000:5d:00)',
    '(',
    ')',
    ': ',
    ', ',
    '79',
    '154',
    '20034',
    '9'.repeat(30),
    'pid=',
    "'<unknown>'",
    'name=',
    'Fatal',
    'Non-fatal',
    'Link ',
    ' to 0x2 (',
    '0x5',
    '149',
    'NETIR_LINK_EVT ',
    'Nonfatal XC0 i0 ',
    '(0x021425c6',
    'NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update',
    'None',
    '6,1,2,-;',
    '[1.000000] ',
    'nvidia-nvswitch0: ',
    'GPU has fallen off the bus',
    '\n',
    '\u0000',
    '\ud800',
    '\u202e',
    '-1',
    'x'.repeat(3000),
  ];

  it('never throws and never breaks a limit', () => {
    const random = seeded(20_261_121);
    for (let run = 0; run < 5000; run++) {
      const start =
        random() < 0.5
          ? 'NVRM: Xid (PCI:0000:5d:00): '
          : random() < 0.5
            ? 'nvidia-nvswitch1: SXid (PCI:0000:5d:00): '
            : '';
      const line =
        start +
        Array.from({ length: Math.floor(random() * 12) }, () => pieces[Math.floor(random() * pieces.length)]).join('');
      const fault = kernelFault(observed(line, { evidence: [line] }));
      if (fault !== undefined && !reportedFault.safeParse(fault).success)
        throw new Error(`breaks a limit: ${JSON.stringify(line)}`);
    }
    expect.assertions(0);
  });

  it.each(['(', '0', ' ', '[', 'NVRM: ', 'to (', '0000:', 'a:'])('takes little time when it repeats %j', (piece) => {
    const line = `NVRM: Xid (PCI:0000:5d:00): 154, ${piece.repeat(100_000)}`;
    expect(kernelFault(observed(line))?.code).toBe('xid/154');
  });
});

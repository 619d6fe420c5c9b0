import { describe, expect, it } from '@jest/globals';
import { type Classified, classifyLine } from '../../../faults/kernel/classify.ts';
import sheet from '../../fixtures/kernel/nvlink5-decode.json' with { type: 'json' };

type Expected = Partial<Classified>;

const lines: readonly (readonly [name: string, line: string, expected: Expected])[] = [
  [
    'reads address, process and text of an Xid',
    'NVRM: Xid (PCI:0000:5d:00): 79, pid=1234, name=python, GPU has fallen off the bus.',
    {
      kind: 'xid',
      code: 79,
      pci: '0000:5d:00',
      pid: 1234,
      process: 'python',
      link: null,
      action: 'reboot',
      standing: 'current',
      message: 'GPU has fallen off the bus.',
    },
  ],
  [
    'reads an unknown process as none',
    "NVRM: Xid (PCI:0000:5d:00): 48, pid='<unknown>', name=<unknown>, DBE (double bit error)",
    { code: 48, pid: null, process: null, action: 'reset-gpu', message: 'DBE (double bit error)' },
  ],
  [
    'reads an Xid without process',
    'NVRM: Xid (PCI:0000:9b:00): 48, DBE (double bit error)',
    { code: 48, pid: null, pci: '0000:9b:00', message: 'DBE (double bit error)' },
  ],
  [
    'reads a process without a name',
    'NVRM: Xid (PCI:0000:5d:00): 31, pid=77, Ch 00000008, MMU Fault',
    { code: 31, pid: 77, process: null, message: 'Ch 00000008, MMU Fault' },
  ],
  [
    'reads an old driver without the PCI word',
    'NVRM: Xid (0000:03:00): 31, Ch 00000010',
    { code: 31, pci: '0000:03:00' },
  ],
  [
    'reads an old driver without an address',
    'NVRM: Xid: 79, GPU has fallen off the bus.',
    { code: 79, pci: null, action: 'reboot' },
  ],
  ['reads an address without a domain', 'NVRM: Xid (PCI:5D:00): 79, x', { pci: '0000:5d:00' }],
  [
    'reads an address with an eight-digit domain and a function',
    'NVRM: Xid (PCI:00000000:5D:00.0): 79, x',
    { pci: '0000:5d:00' },
  ],
  [
    'reads a slice of a GPU',
    'NVRM: Xid (PCI:0000:5d:00 GPU-I:05): 94, Contained',
    { code: 94, pci: '0000:5d:00', action: 'restart-app' },
  ],
  [
    'reads a GPU that is named by its UUID',
    'NVRM: Xid (GPU-6d2ae2a9-1234-5678-9abc-0123456789ab): 48, DBE',
    { code: 48, pci: null },
  ],
  ['does not mind the case', 'nvrm: xid (pci:0000:5D:00): 79, gone', { code: 79, pci: '0000:5d:00' }],
  [
    'uses the name of the catalogue where the driver had no words',
    'NVRM: Xid (PCI:0000:5d:00): 79, pid=1, name=a',
    { message: 'GPU no longer reachable on PCIe (fell off the bus)' },
  ],
  [
    'reads the record of the device, without its continuation',
    '4,1234,98765432,-;NVRM: Xid (PCI:0000:5d:00): 79, gone\n SUBSYSTEM=pci\n DEVICE=+pci:0000:5d:00.0',
    { code: 79, message: 'gone' },
  ],
  [
    'sets an unknown Xid aside for a person',
    'NVRM: Xid (PCI:0000:5d:00): 9999, new',
    { code: 9999, standing: 'unknown', severity: 'unknown', action: 'contact-support' },
  ],
  [
    'says that an Xid is retired',
    'NVRM: Xid (PCI:0000:5d:00): 58, x',
    { code: 58, standing: 'retired', action: 'contact-support' },
  ],
  [
    'reads switch, link and word of an SXid',
    'nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up',
    {
      kind: 'sxid',
      code: 20034,
      pci: '0000:c1:00',
      link: 30,
      action: 'reboot',
      standing: 'current',
      pid: null,
      process: null,
    },
  ],
  [
    'believes the table that a number is harmless',
    'nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 22013, Non-fatal, Link 32 Minion',
    { link: 32, action: 'ignore', standing: 'current' },
  ],
  [
    'believes the word fatal against a harmless number',
    'nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 22013, Fatal, Link 32 Minion',
    { action: 'reboot', severity: 'fatal' },
  ],
  [
    'believes the table against the word non-fatal',
    'nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress',
    { action: 'reboot' },
  ],
  [
    'believes the word fatal of an unknown SXid',
    'nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 29999, Fatal, Link 1 x',
    { action: 'reboot', standing: 'current' },
  ],
  [
    'believes the word non-fatal of an unknown SXid',
    'nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 29999, Non-fatal, Link 1 x',
    { action: 'ignore' },
  ],
  [
    'asks a person about an unknown SXid without a word',
    'nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 29999, Link 1 x',
    { action: 'contact-support', standing: 'unknown', link: 1 },
  ],
  [
    'reads an SXid that names only its address',
    'SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30',
    { kind: 'sxid', code: 20034 },
  ],
  [
    'sees a GPU off the bus without an Xid',
    'NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus.',
    { kind: 'other', code: 'gpu-off-bus', pci: '0000:5d:00', action: 'reboot' },
  ],
  [
    'sees a GPU off the bus in the second line of a message',
    'NVRM: installed in this system has fallen off the bus and is not responding to commands.',
    { code: 'gpu-off-bus', pci: null },
  ],
  [
    'sees a GPU off the bus in one record of three lines',
    String.raw`3,77,123,-;NVRM: The NVIDIA GPU 0000:b3:00.0\x0aNVRM: (PCI ID: 10de:26b5) installed in this system has\x0aNVRM: fallen off the bus and is not responding to commands.`,
    { code: 'gpu-off-bus', pci: '0000:b3:00' },
  ],
  [
    'sees the last of three lines about a GPU off the bus',
    'NVRM: fallen off the bus and is not responding to commands.',
    { code: 'gpu-off-bus', pci: null },
  ],
  [
    'sees NVLinks whose partners cannot be read',
    'NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!',
    { kind: 'other', code: 'nvlink', pci: null, action: 'reset-gpu' },
  ],
  [
    'sees a GPU that does not respond',
    'NVRM: GPU at PCI:0000:5d:00 is not responding',
    { code: 'gpu-off-bus', pci: '0000:5d:00' },
  ],
  [
    'records an error of peer memory as one of the application',
    'nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing',
    { kind: 'other', code: 'peermem', action: 'restart-app', standing: 'current' },
  ],
];

describe('the meaning of a kernel line', () => {
  it.each(lines)('%s', (_name, line, expected) => {
    expect(classifyLine(line)).toMatchObject(expected);
  });

  it('explains itself with code, name and source', () => {
    expect(classifyLine('NVRM: Xid (PCI:0000:5d:00): 79, x')?.because).toBe(
      'Xid 79 is "GPU no longer reachable on PCIe (fell off the bus)"; the catalogue of Xids says reboot.',
    );
  });

  it.each([
    ['a line about something else', 'usb 1-1: new high-speed USB device number 2'],
    ['an empty line', ''],
    ['the UUID of a GPU', 'NVRM: GPU at PCI:0000:5d:00: GPU-6d2ae2a9-1234-5678-9abc-0123456789ab'],
    [
      'the registers that follow an SXid',
      'nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Severity 1 Engine instance 30 Sub-engine instance 00',
    ],
    [
      'the data that follows an SXid',
      'nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Data {0x00140004, 0x00100000}',
    ],
    ['a number that no driver would write', 'NVRM: Xid (PCI:0000:5d:00): 99999999999999999999, x'],
    ['an Xid that another program logged', 'Nov 21 09:15:12 gpu-3 trainer[12]: NVRM: Xid (PCI:0000:5d:00): 79, x'],
    ['a process called like an Xid', 'NVRM: Xid: 79, [4711]: segfault at 0 ip 00007f sp 00007f error 4'],
    ['a process called like an Xid that asks for the OOM killer', 'NVRM: Xid: 79, invoked oom-killer: gfp_mask=0x100'],
    [
      'a file called like an Xid',
      'python[12]: segfault at 0 ip 0 sp 0 error 4 in NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.[7f+1000]',
    ],
    [
      'a record of the device that quotes a log prefix',
      '6,1,1,-;Nov 21 09:15:12 h kernel: NVRM: Xid (PCI:0000:5d:00): 79, x',
    ],
  ])('is none for %s', (_name, line) => {
    expect(classifyLine(line)).toBeUndefined();
  });
});

describe('Xid 154', () => {
  const changed = (to: string) =>
    `NVRM: Xid (PCI:0000:5d:00): 154, pid=1, name=python, GPU recovery action changed from 0x1 (GPU Reset Required) to ${to}`;
  it.each([
    ['ignores the end of a need', changed('0x0 (None)'), 'ignore'],
    ['resets when a reset is required', changed('0x1 (GPU Reset Required)'), 'reset-gpu'],
    ['reboots when a reboot is required', changed('0x2 (Node Reboot Required)'), 'reboot'],
    ['resets to drain peer-to-peer', changed('0x3 (Drain P2P)'), 'reset-gpu'],
    ['resets to drain and reset', changed('0x4 (Drain and Reset)'), 'reset-gpu'],
    ['reboots for a state that is not understood', changed('0x9 (Something New)'), 'reboot'],
    ['reboots for a state called like a property of every object', changed('0x9 (constructor)'), 'reboot'],
    ['reboots for a text that is not understood', 'NVRM: Xid (PCI:0000:5d:00): 154, hello', 'reboot'],
    ['reboots for no text at all', 'NVRM: Xid (PCI:0000:5d:00): 154', 'reboot'],
    [
      'reads a space after the number',
      'NVRM: Xid (PCI:0000:5d:00): 154 GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)',
      'reboot',
    ],
    [
      'takes the new state, not the old',
      'NVRM: Xid (PCI:0000:5d:00): 154, GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)',
      'ignore',
    ],
    ['reads the words of driver 610 for a reset', changed('0x1 (PF FLR)'), 'reset-gpu'],
    ['reads the words of driver 610 for a reboot', changed('0x2 (OS Reboot)'), 'reboot'],
    ['restarts only jobs to recover an IMEX domain', changed('0x5 (Recover IMEX Domain)'), 'restart-app'],
    ['resets for a bus reset', changed('0x6 (Bus Reset)'), 'reset-gpu'],
    ['reboots for a system reboot', changed('0x7 (System Reboot)'), 'reboot'],
    ['believes the number, not the words', changed('0x2 (GPU Reset Required)'), 'reboot'],
    ['reads a number without words', changed('0x2 ()'), 'reboot'],
    ['reads words where no number is printed', changed('(Drain P2P)'), 'reset-gpu'],
    ['does not mind the case', changed('0X2 (NODE REBOOT REQUIRED)'), 'reboot'],
  ])('%s', (_name, line, action) => {
    expect(classifyLine(line)).toMatchObject({ code: 154, standing: 'current', action });
  });
});

describe('Xids 144 to 150', () => {
  const line = (rest: string) => `NVRM: Xid (PCI:0018:01:00): ${rest}`;
  const zeros = '0x00000000 0x00000000 0x00000000 0x00000000 0x00000000';
  it.each([
    [
      'need nothing on the node when not fatal',
      line(`145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 ${zeros})`),
      'ignore',
    ],
    [
      'need a reset when fatal',
      line(`145, RLW_SRC_TRACK Fatal XC0 i0 Link 00 (0x00000007 0x00000001 0x00000000)`),
      'reset-gpu',
    ],
    [
      'need a reset after a fatal link event',
      line(`149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 ${zeros})`),
      'reset-gpu',
    ],
    [
      'blame the far end for a fatal link event of its subcode',
      line(`149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6 ${zeros})`),
      'reset-gpu',
    ],
    [
      'need nothing after a link that was taken down on purpose',
      line(`149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x028001c6 ${zeros})`),
      'ignore',
    ],
    [
      'are read after process and name',
      line(`145, pid=77, name=python, RLW_SRC_TRACK Nonfatal XC1 i0 Link -1 (0x00000007)`),
      'ignore',
    ],
    [
      'are read as drivers before R575 write them',
      line('149, NETIR_LINK_EVT Fatal XC 1 i 2 Link 01 [0x0000000a]'),
      'reset-gpu',
    ],
    ['follow the catalogue without the word', line('149, NETIR_LINK_EVT'), 'reset-gpu'],
    ['follow the catalogue where the word is not behind a unit', line('145, a tenant writes Nonfatal'), 'reset-gpu'],
  ])('%s', (_name, text, action) => {
    expect(classifyLine(text)).toMatchObject({ kind: 'xid', standing: 'current', action });
  });

  it('lead to what the decode sheet says in each of its rows', () => {
    const actions = { IGNORE: 'ignore', XID_154_EVAL: 'ignore', RESET_GPU: 'reset-gpu' } as const;
    const wrong = sheet.rows.flatMap(({ xid, units, subcode, status, severity, action }) =>
      units.flatMap((unit) => {
        const word = severity === 'Non-fatal' ? 'Nonfatal' : 'Fatal';
        const first = `0x${((subcode << 20) >>> 0).toString(16).padStart(8, '0')}`;
        const found = classifyLine(line(`${xid}, ${unit} ${word} XC0 i0 Link 00 (${first} ${status} ${zeros})`));
        return found?.action === actions[action as keyof typeof actions] ? [] : [`${xid} ${unit} ${subcode} ${status}`];
      }),
    );
    expect(sheet.rows).toHaveLength(91);
    expect(wrong).toEqual([]);
  });

  it('name the far end where the decode sheet does', () => {
    expect(classifyLine(line(`149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x025001c6 ${zeros})`))?.because).toMatch(
      /far end of the link first \(0x25\)/,
    );
  });
});

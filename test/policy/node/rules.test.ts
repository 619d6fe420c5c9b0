import { describe, expect, it } from '@jest/globals';
import type { NodeHistory } from '../../../contract/node/history.ts';
import { kernelFault } from '../../../faults/kernel/from-kernel.ts';
import type { Verdict } from '../../../policy/node/judge.ts';
import { nodeReplay } from '../../../policy/node/replay.ts';
import { builtInRules, rulesOf } from '../../../policy/node/rules/index.ts';
import { settings } from '../../support/builders.ts';

const begin = Date.parse('2026-11-21T07:00:00Z');
const [second, minute, hour] = [1, 60, 3600];

const xid = (code: number, text = '', pci = '0000:5d:00') => `NVRM: Xid (PCI:${pci}): ${code}, ${text}`;
const warp = (gpc: number, tpc: number, pci?: string) =>
  xid(
    13,
    `pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC ${gpc}, TPC ${tpc}, SM 0): Out Of Range Address`,
    pci,
  );
const mmu = (pci?: string) =>
  xid(
    31,
    'pid=2512125, name=python3.10, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_8 faulted',
    pci,
  );
const nvlink = (link: number, pci?: string) =>
  xid(74, `NVLink: fatal error detected on link ${link}(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)`, pci);
const action = (to: string) => xid(154, `GPU recovery action changed from 0x0 (None) to ${to}`);
const other = '0000:9b:00';

type Line = readonly [seconds: number, text: string];

/** Plays the lines; the state goes through JSON after each one. */
function play(lines: readonly Line[], given: unknown = {}, untrusted: readonly number[] = []): readonly Verdict[] {
  let state: Readonly<Record<string, NodeHistory>> = {};
  const parsed = settings(given);
  return lines.flatMap(([seconds, line], sequence) => {
    const at = begin + seconds * 1000;
    const fault = kernelFault({
      line,
      position: { bootId: 'b', sequence },
      node: 'gpu-3',
      seenAt: new Date(at).toISOString(),
      evidence: [],
    });
    if (fault === undefined) throw new Error(`no fault: ${line}`);
    const replay = nodeReplay(parsed, state);
    const verdict = replay.take(untrusted.includes(sequence) ? { ...fault, untrusted: true } : fault, at);
    state = JSON.parse(JSON.stringify(replay.state())) as typeof state;
    return verdict ? [verdict] : [];
  });
}

const lastOf = (lines: readonly Line[], given?: unknown) => {
  const verdict = play(lines, given).at(-1);
  return verdict && { code: verdict.fault.code, effects: verdict.effects, rules: verdict.rules };
};

const cases: readonly (readonly [
  name: string,
  lines: readonly Line[],
  effects: readonly string[],
  rules: readonly string[],
])[] = [
  ['Xid 13 once is the application', [[0, warp(1, 2)]], [], []],
  [
    'Xid 13 again at the same place calls for diagnostics',
    [
      [0, warp(1, 2)],
      [hour, warp(1, 2)],
    ],
    ['warn'],
    ['xid-13-same-place'],
  ],
  [
    'Xid 13 at another place is the application',
    [
      [0, warp(1, 2)],
      [hour, warp(1, 3)],
    ],
    [],
    [],
  ],
  [
    'Xid 13 at the same place and at others is the application',
    [
      [0, warp(1, 2)],
      [1, warp(0, 1)],
      [hour, warp(1, 2)],
    ],
    [],
    [],
  ],
  [
    'Xid 13 at the same place of another GPU is counted apart',
    [
      [0, warp(1, 2, other)],
      [hour, warp(1, 2)],
    ],
    [],
    [],
  ],
  [
    'Xid 13 after more than a day is the first again',
    [
      [0, warp(1, 2)],
      [25 * hour, warp(1, 2)],
    ],
    [],
    [],
  ],
  [
    'Xid 31 again on the same GPU calls for diagnostics',
    [
      [0, mmu()],
      [hour, mmu()],
    ],
    ['warn'],
    ['xid-31-same-gpu'],
  ],
  [
    'Xid 31 again within three minutes is one burst',
    [
      [0, mmu()],
      [2 * minute, mmu()],
    ],
    [],
    [],
  ],
  [
    'Xid 31 on two GPUs is the application',
    [
      [0, mmu()],
      [hour, mmu(other)],
      [2 * hour, mmu()],
    ],
    [],
    [],
  ],
  [
    'a fifth failure of a GPU in a day is one for support',
    [0, 1, 2, 3, 4].map((at) => [at * hour, xid(119 + (at % 2), 'GSP')] as const),
    ['quarantine'],
    ['fatal-same-gpu'],
  ],
  ['a fourth is not', [0, 1, 2, 3].map((at) => [at * hour, xid(119, 'GSP')] as const), ['quarantine'], []],
  [
    'a third Xid 94 on a GPU in a day asks for a reset',
    [0, 1, 2].map((at) => [at * hour, xid(94, 'Contained: SM (0x1). RST: No, D-RST: No')] as const),
    ['ask'],
    ['xid-94-same-gpu'],
  ],
  [
    'a third failure of one NVLink in a day is one for support',
    [0, 1, 2].map((at) => [at * hour, nvlink(4)] as const),
    ['quarantine'],
    ['xid-74-same-link'],
  ],
  [
    'three failures of three NVLinks are three',
    [0, 1, 2].map((at) => [at * hour, nvlink(at)] as const),
    ['quarantine'],
    [],
  ],
  [
    'corrected errors for an hour ask for diagnostics',
    Array.from({ length: 13 }, (_, at) => [at * 5 * minute, xid(92, 'High single-bit ECC error rate')] as const),
    ['ask'],
    ['xid-92-lasts'],
  ],
  [
    'corrected errors with a long pause do not',
    [
      [0, xid(92)],
      [50 * minute, xid(92)],
      [65 * minute, xid(92)],
    ],
    [],
    [],
  ],
  [
    'an IMEX domain to recover restarts the jobs alone',
    [[0, action('0x5 (Recover IMEX Domain)')]],
    ['restart-job'],
    ['imex-domain'],
  ],
  [
    'a reset that was required and no longer is takes back the Xids of its GPU',
    [
      [0, xid(119, 'GSP')],
      [10, action('0x0 (None)')],
    ],
    [],
    ['xid-154-supersedes'],
  ],
  [
    'it takes back nothing of another GPU',
    [
      [0, xid(119, 'GSP', other)],
      [10, action('0x0 (None)')],
    ],
    [],
    [],
  ],
  [
    'power smoothing that works again takes back its end',
    [
      [0, xid(163)],
      [10, xid(162)],
    ],
    [],
    ['xid-162-cancels-163'],
  ],
  [
    'Xid 45 follows another Xid',
    [
      [0, xid(31)],
      [1, xid(45, 'Ch 00000001')],
    ],
    [],
    ['xid-45-follows'],
  ],
  [
    'the details of a memory error follow it',
    [
      [0, xid(48, 'DBE')],
      [1, xid(171, 'DRAM')],
    ],
    [],
    ['xid-48-details'],
  ],
  ['they count by themselves without it', [[0, xid(171, 'DRAM')]], ['quarantine'], []],
  [
    'a failed remap follows its memory error',
    [
      [0, xid(48, 'DBE')],
      [1, xid(64)],
    ],
    [],
    ['xid-48-details'],
  ],
  [
    'Xid 74 of a peer follows a GPU that died',
    [
      [0, xid(79)],
      [1, nvlink(4, other)],
    ],
    [],
    ['xid-74-of-peers'],
  ],
  [
    'Xid 74 of the GPU itself does not',
    [
      [0, xid(79)],
      [1, nvlink(4)],
    ],
    ['quarantine'],
    [],
  ],
  [
    'Xid 74 a minute and more later does not',
    [
      [0, xid(79)],
      [2 * minute, nvlink(4, other)],
    ],
    ['quarantine'],
    [],
  ],
  [
    'Xid 74 follows a fatal error of a switch',
    [
      [0, 'nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up'],
      [1, nvlink(4)],
    ],
    [],
    ['xid-74-of-switch'],
  ],
  [
    'Xid 74 does not follow a harmless error of a switch',
    [
      [0, 'nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 22013, Non-fatal, Link 32 Minion'],
      [1, nvlink(4)],
    ],
    ['quarantine'],
    [],
  ],
  ['an unknown Xid asks', [[0, xid(9999, 'new')]], ['ask'], []],
];

describe('rules over time', () => {
  it.each(cases)('%s', (_name, lines, effects, rules) => {
    expect(lastOf(lines)).toMatchObject({ effects, rules });
  });

  it('each have a case that shows them, but for the link that flaps, which no kernel line reports', () => {
    const shown = new Set(cases.flatMap(([, , , rules]) => rules));
    expect(builtInRules.map(({ name }) => name).filter((name) => !shown.has(name))).toEqual(['link-flaps']);
  });

  it('count a storm of lines as one', () => {
    const storm = Array.from({ length: 3000 }, (_, at) => [at * second, warp(1, 2)] as const);
    expect(play(storm)).toHaveLength(1);
    expect(lastOf([...storm, [2 * hour, warp(1, 2)]])).toMatchObject({ rules: ['xid-13-same-place'] });
  });

  it('neither count nor apply to what others than the node may have written', () => {
    const effectsOf = (lines: readonly Line[], by: readonly number[]) => play(lines, {}, by).at(-1)?.effects;
    const repeated = cases.filter(([, , effects]) => effects.includes('quarantine'));
    expect(repeated).not.toEqual([]);
    for (const [, lines] of repeated) {
      const all = lines.map((_, index) => index);
      expect(effectsOf(lines, all)).not.toContain('quarantine');
      expect(effectsOf(lines, all.slice(0, -1))).toEqual(effectsOf(lines.slice(-1), []));
    }
  });

  it('leave a code alone that the settings name, and its own response holds', () => {
    const given = { faults: { codes: { 'xid/74': 'quarantine' } } };
    expect(
      lastOf(
        [
          [0, xid(79)],
          [1, nvlink(4, other)],
        ],
        given,
      ),
    ).toMatchObject({ effects: ['quarantine'], rules: [] });
  });

  it('never explain a fault by one that the settings take less seriously', () => {
    const given = { faults: { codes: { 'xid/79': 'record' } } };
    expect(
      lastOf(
        [
          [0, xid(79)],
          [1, nvlink(4, other)],
        ],
        given,
      ),
    ).toMatchObject({ effects: ['quarantine'] });
  });

  it('can be replaced by name, switched off and added to', () => {
    const twice: readonly Line[] = [
      [0, warp(1, 2)],
      [hour, warp(1, 2)],
    ];
    const rule = { name: 'xid-13-same-place', codes: ['xid/13'], by: 'place', because: 'see the runbook' };
    expect(lastOf(twice, { faults: { rules: [{ ...rule, effects: ['quarantine', 'restart-job'] }] } })).toMatchObject({
      effects: ['quarantine', 'restart-job'],
    });
    expect(lastOf(twice, { faults: { rules: [{ ...rule, effects: [] }] } })).toMatchObject({ effects: [], rules: [] });
    const own = { name: 'site-43', codes: ['xid/43'], count: 3, within: '1h', gap: '1m', because: 'ask the owner' };
    expect(
      lastOf(
        [0, 5, 10].map((at) => [at * minute, xid(43)] as const),
        { faults: { rules: [own] } },
      ),
    ).toMatchObject({
      effects: ['ask'],
      rules: ['site-43'],
    });
    expect(rulesOf(settings({ faults: { rules: [own] } }).faults)).toHaveLength(builtInRules.length + 1);
  });

  it('give way to a suppression until it ends, which counts nothing', () => {
    const suppression = {
      codes: ['xid/*'],
      nodes: ['gpu-3'],
      until: '2026-11-21T08:00:00Z',
      reason: 'firmware test',
      owner: 'ada',
    };
    const given = { faults: { suppressions: [suppression] } };
    const [silent, late] = play(
      [
        [0, xid(79)],
        [2 * hour, xid(79)],
      ],
      given,
    );
    expect(silent).toMatchObject({
      effects: [],
      because: ['suppressed by ada until 2026-11-21T08:00:00Z: firmware test'],
    });
    expect(late).toMatchObject({ effects: ['quarantine'], rules: [] });
    const elsewhere = { faults: { suppressions: [{ ...suppression, nodes: ['gpu-4'] }] } };
    expect(lastOf([[0, xid(79)]], elsewhere)).toMatchObject({ effects: ['quarantine'] });
    const later = { faults: { suppressions: [{ ...suppression, from: '2026-11-21T07:30:00Z' }] } };
    expect(lastOf([[0, xid(79)]], later)).toMatchObject({ effects: ['quarantine'] });
  });

  it('restart jobs and warn once for a line that the driver repeats', () => {
    expect(
      play([
        [0, action('0x5 (Recover IMEX Domain)')],
        [1, action('0x5 (Recover IMEX Domain)')],
      ]),
    ).toHaveLength(1);
  });
});

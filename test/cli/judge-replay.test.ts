import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { observationOf } from '../../cli/judge/observation.ts';
import { kcover } from './kcover.ts';

/** Lines of real drivers, from issues of gpud, NVSentinel and the open kernel modules, and what happened between them is made up. */
const recorded = fileURLToPath(new URL('../fixtures/kernel/faults-over-time.jsonl', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'kcover-judge-'));
afterAll(() => rmSync(directory, { recursive: true }));

interface Replayed {
  readonly verdicts: readonly {
    readonly node: string;
    readonly code: string;
    readonly effects: readonly string[];
    readonly rule?: string;
  }[];
  readonly unusable: readonly { readonly line: number; readonly because: string }[];
  readonly unusableLines: number;
  readonly state: Readonly<Record<string, readonly unknown[]>>;
}

const replayed = async (args: readonly string[], stdin = ''): Promise<Replayed> => {
  const { stdout, stderr, code } = await kcover(['judge', 'replay', ...args, '-o', 'json'], stdin);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  return JSON.parse(stdout) as Replayed;
};

describe('kcover judge replay', () => {
  it('says what a recorded stream leads to, and by which rules', async () => {
    const { verdicts, state } = await replayed([recorded]);
    expect(
      verdicts.map(({ node, code, effects, rule = '' }) => `${node} ${code} ${effects.join('+')} ${rule}`),
    ).toEqual([
      'a100-1 xid/13  ',
      'a100-1 xid/109 quarantine ',
      'a100-1 xid/13 warn xid-13-same-place',
      'h100-1 xid/79 quarantine ',
      'h100-1 kernel/gpu-off-bus quarantine ',
      'h100-1 xid/154 quarantine ',
      'h100-1 xid/74  xid-74-of-peers',
      'b200-1 xid/145  ',
      'b200-1 xid/45  xid-45-follows',
    ]);
    expect(Object.keys(state)).toEqual(['a100-1', 'h100-1', 'b200-1']);
  });

  it('follows the rules and suppressions of a settings file', async () => {
    const config = join(directory, 'worker.yaml');
    writeFileSync(
      config,
      [
        'faults:',
        '  rules:',
        '    - {name: site-109, codes: [xid/109], count: 1, effects: [restart-job], because: known bug}',
        '  suppressions:',
        '    - {nodes: [h100-1], until: "2026-12-01T00:00:00Z", reason: firmware, owner: ada}',
      ].join('\n'),
    );
    const { verdicts } = await replayed([recorded, '--config', config]);
    expect(verdicts.find(({ code }) => code === 'xid/109')?.effects).toEqual(['quarantine', 'restart-job']);
    expect(verdicts.filter(({ node }) => node === 'h100-1').every(({ effects }) => effects.length === 0)).toBe(true);
  });

  it('reads faults of any source from stdin, and says which lines it does not use', async () => {
    const lines = [
      '{"at":1763708400000,"fault":{"source":"link","code":"link/down","device":"mlx5_0"}}',
      '{"at":"2026-11-21T07:00:01Z","node":"n2","fault":{"source":"kernel","code":"xid/48","device":"0000:5d:00","message":"DBE"}}',
      '{"at":"2026-11-21T07:00:02Z","fault":{"source":"kernel","code":"xid/9999"}}',
      'oops',
      '{"at":"then","line":"x"}',
      '{"at":1,"fault":{"source":"moon","code":"x/1"}}',
      '{"at":1,"fault":{"source":"link","code":"xid/79"}}',
    ];
    const { verdicts, unusable } = await replayed(['-', '--node', 'n1'], lines.join('\n'));
    expect(verdicts.map(({ node, code, effects }) => [node, code, ...effects])).toEqual([
      ['n1', 'link/down', 'quarantine'],
      ['n2', 'xid/48', 'quarantine'],
      ['n1', 'xid/9999', 'ask'],
    ]);
    expect(unusable.map(({ line }) => line)).toEqual([4, 5, 6, 7]);
  });

  it('prints a table', async () => {
    const { stdout } = await kcover(['judge', 'replay', recorded]);
    expect(stdout).toMatch(/^AT +NODE +DEVICE +CODE +EFFECTS +RULE +BECAUSE\n/);
    expect(stdout).toMatch(/a100-1 +0000:cb:00 +xid\/13 +warn +xid-13-same-place/);
  });

  it('says that a file cannot be read', async () => {
    const { stderr, code } = await kcover(['judge', 'replay', join(directory, 'missing.jsonl')]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/missing\.jsonl/);
  });
});

describe('an observation', () => {
  it('is read, or refused with a reason, whatever the line is', () => {
    const fields = fc.record(
      {
        at: fc.oneof(fc.constant('2026-11-21T07:00:00Z'), fc.double(), fc.string(), fc.constant(1e300)),
        node: fc.oneof(fc.string(), fc.integer()),
        line: fc.oneof(fc.string(), fc.constant('NVRM: Xid (PCI:0000:5d:00): 79, x'), fc.nat()),
        fault: fc.oneof(
          fc.string(),
          fc.record(
            {
              source: fc.constantFrom('kernel', 'link', 'pod', 'toString'),
              code: fc.constantFrom('xid/79', 'xid/__proto__', 'link/down', 'pod/exit', 'sxid/1'),
              device: fc.anything(),
              message: fc.anything(),
              action: fc.anything(),
            },
            { requiredKeys: [] },
          ),
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fields.map((value) => JSON.stringify(value)),
        ),
        (text) => {
          const seen = observationOf(text, 1, 'node');
          if ('unusable' in seen) return expect(seen.unusable).not.toBe('');
          expect(Number.isInteger(seen.at)).toBe(true);
          expect(seen.fault?.message ?? '').not.toMatch(/\p{Cc}/u);
        },
      ),
    );
  });
});

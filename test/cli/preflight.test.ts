import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readEnvironment } from '../../cli/program/environment.ts';
import type { CommandOutput } from '../../cli/program/command.ts';
import { buildProgram } from '../../cli/program/program.ts';
import { openSession } from '../../cli/clients/session.ts';
import { describe as describeStatus } from '../../cli/commands/preflight-status.ts';
import type { PreflightStatus } from '../../contract/preflight/runs.ts';
import { collectingProfiles } from '../../policy/preflight/collecting.ts';
import { expectedOf, foundIn, vectors } from '../support/preflight-vectors.ts';
import { type Raw, rawBatch, rawReport } from '../support/raw-reports.ts';
import { kcover } from './kcover.ts';

const directory = mkdtempSync(join(tmpdir(), 'kcover-preflight-'));
afterAll(() => rmSync(directory, { recursive: true }));

let files = 0;
function fileOf(content: unknown): string {
  const file = join(directory, `${files++}.json`);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

/** Output of a command line, run in this process. */
async function answerOf(...args: readonly string[]): Promise<CommandOutput> {
  const environment = readEnvironment(process);
  let answer: CommandOutput | undefined;
  const program = buildProgram(environment, async (entry, typed) => {
    const said = await entry.run(typed, { environment, session: openSession(environment, undefined), now: 0 });
    if (typeof said !== 'string') answer = said;
  });
  await program.parseAsync([...args], { from: 'user' });
  if (answer === undefined) throw new Error(`no answer to ${args.join(' ')}`);
  return answer;
}

const addresses = (a: number, b: number): string[] => [`10.0.0.${a}`, `10.0.0.${b}`];
const rounds = [
  [1, 0, 3, 2],
  [2, 3, 0, 1],
  [3, 2, 1, 0],
];
/** Reports of `size` ranks of four in which every pair of rank 2 is slow. */
const raw = (more: Raw = {}): Raw[] =>
  Array.from({ length: 4 }, (_, rank) => {
    const batches = rounds.map((partners, round) => {
      const peer = partners[rank] ?? 0;
      return rawBatch({
        batch_idx: round,
        pair: addresses(rank, peer),
        self_ip: `10.0.0.${rank}`,
        allreduce_ms: [rank, peer].includes(2) ? 2000 : 20,
      });
    });
    return rawReport({ rank, node_name: `gpu-${rank}`, node_ip: `10.0.0.${rank}`, batches, ...more });
  });

describe('kcover preflight judge', () => {
  it.each(collectingProfiles)('replays every vector by the strict rule in profile %s', async (profile) => {
    for (const vector of vectors) {
      const { data } = await answerOf(
        'preflight',
        'judge',
        fileOf(vector),
        '--rule',
        'strict',
        '--profile',
        profile,
        '-o',
        'json',
      );
      expect(foundIn(vector, (data as { readonly steps: readonly unknown[] }).steps)).toEqual(
        expectedOf(vector, profile),
      );
    }
  });

  it('prints a vector as one outcome for each step, in the profile recommended by default', async () => {
    const vector = vectors.find(({ name }) => name === 'timeout-late-report-finds-expired-set');
    const { stdout, stderr, code } = await kcover([
      'preflight',
      'judge',
      fileOf(vector),
      '--rule',
      'strict',
      '--output',
      'json',
    ]);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(JSON.parse(stdout)).toEqual({ steps: [{ outcome: 'waiting' }, vector?.expected.recommended] });
  });

  it.each(['strict', 'statistical'])('finds the slow node in raw reports by the rule %s', async (rule) => {
    const { data, text } = await answerOf('preflight', 'judge', ...raw().toReversed().map(fileOf), '--rule', rule);
    expect(data).toMatchObject({
      rule,
      size: 4,
      received: 4,
      missing: [],
      abnormalNodes: ['gpu-2'],
      nodes: [{ rank: 0 }, { rank: 1 }, { rank: 2 }, { rank: 3 }],
    });
    expect(text).toMatch(/^1 slow, 3 healthy: /);
    expect(text).toMatch(/\ngpu-2 +2 +slow +[01]\.\d{3} /);
    expect(text).toMatch(/\ngpu-2 +round 0 with gpu-3: /);
  });

  it('uses the statistical rule by default, which accepts any size', async () => {
    const { data } = await answerOf('preflight', 'judge', ...raw({ workload_size: 5 }).map(fileOf));
    expect(data).toMatchObject({ rule: 'statistical', profile: 'live', size: 5, received: 4, missing: [4] });
  });

  it.each([
    ['a file that is not there', () => ['/nonexistent/llm-0.json'], '/nonexistent/llm-0.json: there is no such file'],
    ['text that is no JSON', () => [fileOf('{')], ': parse: '],
    [
      'a field that cannot be used',
      () => [fileOf(rawReport({ batches: [rawBatch({ batch_idx: 'one' })] }))],
      ': batch_idx: batch_idx is not a whole number',
    ],
    [
      'reports of two runs',
      () => raw().map((report, rank) => fileOf({ ...report, workload_size: rank === 3 ? 6 : 4 })),
      ': layout: it is of 6 ranks, ',
    ],
    ['two reports of one rank', () => [...raw(), ...raw()].map(fileOf), ': it is of rank 0 on gpu-0, and so is '],
    [
      'a vector among others',
      () => [fileOf(vectors[0]), ...raw().map(fileOf)],
      ': it is a vector, and a vector is judged alone',
    ],
    [
      'a vector with an empty step',
      () => [fileOf({ reports: [{}] })],
      ': step 1: it needs one of report, reportText and sweep',
    ],
  ])('names the file and the reason for %s', async (_what, given, because) => {
    const paths = given();
    const said = answerOf('preflight', 'judge', ...paths);
    await expect(said).rejects.toMatchObject({ code: 'file.unreadable', because: expect.stringContaining(because) });
    await expect(said).rejects.toMatchObject({
      because: expect.stringMatching(new RegExp(paths.map((path) => `^${path}`).join('|'))),
    });
  });

  it('prints every such error as what, because, try', async () => {
    const { stderr, code } = await kcover(['preflight', 'judge', '/nonexistent/llm-0.json']);
    expect(stderr).toMatch(
      /^error\[file\.unreadable\]: a preflight file cannot be used\n {2}because: \/nonexistent.+\n {2}try: {5}.+\n$/,
    );
    expect(code).toBe(1);
  });
});

describe('kcover preflight plan', () => {
  interface Plan {
    readonly rounds: readonly { readonly pairs: readonly (readonly number[])[]; readonly idle: readonly number[] }[];
  }
  const planOf = async (...args: string[]): Promise<Plan> =>
    (await answerOf('preflight', 'plan', ...args)).data as Plan;

  it.each([
    ['8', '5', 5],
    ['7', '5', 5],
    ['4', '9', 3],
    ['2', '1', 1],
  ])('pairs every rank of %s at most once in a round, and no pair twice in %s rounds', async (nodes, most, count) => {
    const { rounds: planned } = await planOf('--nodes', nodes, '--rounds', most, '--seed', 'x');
    expect(planned).toHaveLength(count);
    const all = Array.from({ length: Number(nodes) }, (_, rank) => rank);
    for (const { pairs, idle } of planned) expect([...pairs.flat(), ...idle].toSorted((a, b) => a - b)).toEqual(all);
    const met = planned.flatMap(({ pairs }) => pairs.map((pair) => pair.toSorted((a, b) => a - b).join()));
    expect(new Set(met).size).toBe(met.length);
  });

  it('is the same for the same seed, and another for another', async () => {
    const args = ['--nodes', '64', '--rounds', '3', '--seed'];
    expect(await planOf(...args, 'a')).toEqual(await planOf(...args, 'a'));
    expect(await planOf(...args, 'a')).not.toMatchObject({ rounds: (await planOf(...args, 'b')).rounds });
  });

  it.each([
    ['--nodes', '1'],
    ['--nodes', '10001'],
    ['--nodes', 'many'],
    ['--rounds', '0'],
  ])('refuses %s %s', async (option, value) => {
    const others = option === '--nodes' ? [] : ['--nodes', '8'];
    await expect(answerOf('preflight', 'plan', ...others, option, value)).rejects.toMatchObject({
      code: 'usage',
      because: expect.stringContaining(`${option} ${value}`),
    });
  });
});

describe('the page of kcover preflight status', () => {
  it('shows the missing ranks, what was refused, and the last verdict', () => {
    const slow = {
      node: 'gpu-2',
      rank: 2,
      verdict: 'slow',
      confidence: 0.997,
      because: 'slow in 3 of 3 pairs',
      pairs: [],
    } as const;
    const status: PreflightStatus = {
      workload: { namespace: 'train', name: 'llm', uid: '0b1c' },
      phase: 'collecting',
      run: 2,
      received: 3,
      expected: 4,
      missing: [3],
      because: 'rank 2 reported',
      waitingFor: '1 report',
      since: '2026-11-21T07:09:00.000Z',
      until: '2026-11-21T07:39:03.000Z',
      last: {
        run: 1,
        startedAt: '2026-11-21T07:00:00.000Z',
        endedAt: '2026-11-21T07:08:13.000Z',
        outcome: 'judged',
        received: 4,
        expected: 4,
        because: 'slow: gpu-2',
        verdict: {
          rule: 'statistical',
          failed: [],
          slow: [slow],
          undetermined: [],
          counts: { failed: 0, slow: 1, healthy: 3, undetermined: 0 },
          confidence: 0.997,
          missing: [],
        },
      },
      refused: [
        {
          rank: 1,
          node: 'gpu-1',
          what: 'batch_idx',
          because: 'batch_idx 9 is above 2',
          at: '2026-11-21T07:09:01.000Z',
        },
      ],
      dropped: 0,
    };
    expect(describeStatus(status, Date.parse('2026-11-21T07:09:13Z')).split('\n')).toEqual([
      'train/llm   collecting   waiting for 1 report until 07:39:03 (29m 50s left)',
      '  because   rank 2 reported',
      '  now       run 2: 3 of 4 reports; collecting since 07:09:00 (13s ago)',
      '  missing   rank 3',
      '  last      run 1 judged 1m ago: slow: gpu-2',
      '  slow      gpu-2 (0.997: slow in 3 of 3 pairs)',
      '  healthy   3; confidence 0.997 by the rule statistical',
      '  refused   07:09:01 rank 1 of gpu-1: batch_idx: batch_idx 9 is above 2',
    ]);
  });
});

describe('kcover worker', () => {
  it.each([
    ['soon', 'must be a duration'],
    ['21d', 'must be at most 20d'],
  ])('refuses %s as the time-out of collections', async (typed, why) => {
    const { stderr, code } = await kcover(['worker', '--preflight-report-collection-timeout', typed]);
    expect(stderr).toContain(`because: --preflight-report-collection-timeout ${typed} ${why}`);
    expect(code).toBe(2);
  });
});

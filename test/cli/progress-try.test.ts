import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { logLines } from '../../cli/progress/log-lines.ts';
import { tryLog } from '../../cli/progress/trial.ts';
import { kcover } from './kcover.ts';

async function collected(lines: AsyncIterable<string>): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

const sample = (name: string): string => fileURLToPath(new URL(`../fixtures/logs/${name}.log`, import.meta.url));

const json = async (args: readonly string[], stdin = ''): Promise<unknown> => {
  const { stdout, stderr, code } = await kcover(['progress', 'try', '--output', 'json', ...args], stdin);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  return JSON.parse(stdout);
};

const written = (second: number, text: string): string =>
  `2026-11-22T12:00:${String(second).padStart(2, '0')}.000000000Z stdout F ${text}\n`;

describe('kcover progress try', () => {
  it('prints steps, checkpoints and the last step of a log, and which preset fits', async () => {
    expect(await json([sample('megatron')])).toMatchObject({
      preset: 'megatron',
      steps: [{ step: 1 }, { step: 201 }, { step: 202 }],
      checkpoints: [{ step: 1 }],
      last: 202,
    });
  });

  it('reads stdin, with the times of the runtime, and takes the pace from them where the log prints none', async () => {
    const lines = [10, 20, 30, 50].map((step) => written(step, `[titan] x - root - INFO - step: ${step}  loss:  7.1`));
    expect(await json(['-'], lines.join(''))).toMatchObject({
      preset: 'torchtitan',
      steps: [
        { step: 10, at: '2026-11-22T12:00:10.000000000Z' },
        { step: 20, at: '2026-11-22T12:00:20.000000000Z' },
        { step: 30, at: '2026-11-22T12:00:30.000000000Z' },
        { step: 50, at: '2026-11-22T12:00:50.000000000Z' },
      ],
      msPerStep: 1000,
      paceFrom: 'times',
    });
  });

  it('says in words what fits and how fast it trains', async () => {
    const { stdout } = await kcover(['progress', 'try', sample('nemo')]);
    expect(stdout).toMatch(/preset +nemo \(NeMo 2\)/);
    expect(stdout).toMatch(/steps +4: 62 to 99 of 99/);
    expect(stdout).toMatch(/pace +290\.2 ms a step, as the log prints it/);
    expect(stdout).toMatch(/checkpoints +2, the last of step 99/);
  });

  it('says what to try when nothing fits', async () => {
    const { stdout, code } = await kcover(['progress', 'try'], 'hello\n');
    expect(code).toBe(0);
    expect(stdout).toContain("the log tells no step; try: kcover progress try --step 'at (?<step>\\d+)' FILE");
    expect(await json([], 'hello\n')).toMatchObject({ preset: null, steps: [], checkpoints: [], last: null });
  });

  it('tries own patterns', async () => {
    const own = ['--step', String.raw`at (?<step>\d+)`, '--checkpoint', String.raw`kept (?<checkpoint>\d+)`];
    expect(await json(own, 'at 7\nat 8\nkept 7\n')).toMatchObject({
      preset: null,
      steps: [{ step: 7 }, { step: 8 }],
      checkpoints: [{ step: 7 }],
    });
  });

  it('refuses a pattern whose time has no bound, and says why', async () => {
    const { stderr, code } = await kcover(['progress', 'try', '--step', String.raw`(?<step>\d+)(?=x)`], 'x');
    expect(code).toBe(2);
    expect(stderr).toContain('--step: of groups with (? only (?: and named ones, such as (?<step>, are allowed');
  });

  it('keeps the newest 10,000 steps of a log of any length, and counts all', async () => {
    async function* endless(): AsyncGenerator<string> {
      for (let step = 1; step <= 50_000; step += 1) yield `completed step: ${step}, seconds: 1.5, loss: 1`;
    }
    const trial = await tryLog(endless(), { preset: 'auto' });
    expect(trial.steps).toHaveLength(10_000);
    expect(trial.steps[0]).toEqual({ step: 40_001 });
    expect(trial).toMatchObject({ last: 50_000, msPerStep: 1500, counts: { lines: 50_000, steps: 50_000 } });
  });
});

describe('a line that never ends', () => {
  it('is given in parts at its carriage returns', async () => {
    async function* pieces(): AsyncGenerator<string> {
      yield 'first\nsecond\r1';
      for (let count = 2; count <= 30; count += 1) yield `\r${count}`;
      yield '\nthird';
    }
    const lines = await collected(logLines(pieces(), 20));
    expect(lines.every((line) => line.length <= 20 + 3)).toBe(true);
    expect(lines.at(-1)).toBe('third');
    expect(lines.slice(1, -1).join('\r')).toBe(`second\r${Array.from({ length: 30 }, (_, at) => at + 1).join('\r')}`);
  });

  it('is cut where it has none', async () => {
    async function* pieces(): AsyncGenerator<string> {
      for (let count = 0; count < 5; count += 1) yield 'x'.repeat(30);
      yield '\nend\n';
    }
    expect((await collected(logLines(pieces(), 20))).at(-1)).toBe('end');
  });
});

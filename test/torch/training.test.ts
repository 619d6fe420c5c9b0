import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { createReadStream, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readProgress } from '../../faults/progress/progress-file.ts';
import { readTrainingLog } from '../../testbed/training-log.ts';
import { type TorchAttempt, checkpointsIn, progressIn, startAttempt } from './attempt.ts';

let directory = '';
const started: TorchAttempt[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kcover-training-'));
});
afterEach(async () => {
  for (const attempt of started.splice(0)) {
    attempt.kill();
    await attempt.ended;
  }
  rmSync(directory, { recursive: true, force: true });
});

async function start(...options: readonly string[]): Promise<TorchAttempt> {
  const attempt = await startAttempt(directory, options);
  started.push(attempt);
  return attempt;
}

/** Expects these exit codes of the pods; the error has the last log lines. */
async function ends(attempt: TorchAttempt, codes: readonly (number | null)[]): Promise<void> {
  const actual = await attempt.ended;
  expect({ codes: actual, said: attempt.said() }).toEqual({ codes, said: expect.anything() });
}

/** The logged loss of each step. */
const lossesOf = (attempt: TorchAttempt): ReadonlyMap<number, number> =>
  readTrainingLog(attempt.said().join('\n')).losses;

/** Steps of the complete checkpoints, oldest first. */
const savedSteps = (): number[] => checkpointFiles().map((name) => Number(/^step-(\d+)\./.exec(name)?.[1]));
const checkpointFiles = (): string[] =>
  readdirSync(checkpointsIn(directory))
    .filter((name) => name.endsWith('.pt'))
    .toSorted();

/** As the agent of the node of this pod reads it. */
const progressOf = (pod: number) =>
  readProgress(readFileSync(join(progressIn(directory, pod), `llm-${pod}.json`), 'utf8'));

describe('the example trainer', () => {
  it('trains with four ranks, and continues after SIGTERM at the saved step, with the losses of a run that was never stopped', async () => {
    const stopped = await start('--steps=60', '--least-step-seconds=0.1');
    await stopped.says(/^rank 0: step 20 /);
    stopped.terminate();
    // Exit codes of torchrun; its ranks exit with 143.
    await ends(stopped, [1, 1]);
    const last = Math.max(...lossesOf(stopped).keys());
    const { sigterm, saved } = readTrainingLog(stopped.said().join('\n'));
    const ranks = [0, 1, 2, 3].flatMap((rank) => [
      { rank, said: 'SIGTERM: finishes the step under way, saves and ends' },
      { rank, said: `told to end: step ${last} is saved, ends with 143` },
    ]);
    expect(sigterm.toSorted((a, b) => a.rank - b.rank)).toEqual(ranks);
    expect(saved).toEqual([last]);
    expect(savedSteps()).toEqual([last]);
    expect(progressOf(0)).toMatchObject({
      kind: 'progress',
      progress: { step: last, checkpointStep: last, phase: 'training' },
    });

    const resumed = await start('--steps=60');
    await ends(resumed, [0, 0]);
    expect(readTrainingLog(resumed.said().join('\n')).resumedFrom).toBe(last);
    expect([...lossesOf(resumed).keys()][0]).toBe(last + 1);
    expect(progressOf(0)).toMatchObject({ kind: 'progress', progress: { step: 60, checkpointStep: 60 } });

    rmSync(checkpointsIn(directory), { recursive: true });
    const never = await start('--steps=60');
    await ends(never, [0, 0]);
    const losses = lossesOf(never);
    expect([...losses.keys()]).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
    expect(losses.get(60)).toBeLessThan((losses.get(1) ?? 0) / 4);
    for (const [step, loss] of [...lossesOf(stopped), ...lossesOf(resumed)])
      expect([step, loss]).toEqual([step, expect.closeTo(losses.get(step) ?? 0, 4)]);
  });

  it('continues from the last complete checkpoint when all its processes are killed in the middle of a save', async () => {
    const killed = await start('--checkpoint-every=5', '--least-step-seconds=0.2');
    await killed.says(/^rank 0: saved step 5$/);
    // The file of the next checkpoint is a pipe that is read only partly, so the save cannot complete.
    const part = join(checkpointsIn(directory), 'step-0000000010.part');
    execFileSync('mkfifo', [part]);
    const half = await firstBytes(part);
    expect(progressOf(0)).toMatchObject({
      kind: 'progress',
      progress: { step: 10, checkpointStep: 5, phase: 'checkpointing' },
    });
    killed.kill();
    await ends(killed, [null, null]);
    rmSync(part);
    writeFileSync(part, half);

    const resumed = await start('--steps=7');
    await ends(resumed, [0, 0]);
    expect(resumed.said()).toEqual(
      expect.arrayContaining([
        'rank 0: removes step-0000000010.part: a trainer was killed while it saved',
        expect.stringMatching(/^rank 0: resumes from step 5, loss /),
      ]),
    );
    expect([...lossesOf(resumed).keys()]).toEqual([6, 7]);
    expect(readdirSync(checkpointsIn(directory))).not.toContain('step-0000000010.part');
  });

  it('keeps the last checkpoints, and skips with a word those that were damaged', async () => {
    const first = await start('--steps=40', '--checkpoint-every=10', '--keep=3');
    await ends(first, [0, 0]);
    expect(savedSteps()).toEqual([20, 30, 40]);
    const [, older = '', newest = ''] = checkpointFiles();
    truncateSync(join(checkpointsIn(directory), newest), 1000);
    flipByte(join(checkpointsIn(directory), older));

    const second = await start('--steps=22', '--keep=3');
    await ends(second, [0, 0]);
    for (const name of [newest, older])
      expect(second.said()).toContain(
        `rank 0: skips ${name}: it is damaged, its content does not fit the digest in its name`,
      );
    expect(second.said()).toContainEqual(expect.stringMatching(/^rank 0: resumes from step 20, loss /));
    // A damaged file does not count as a checkpoint, and replaces none.
    expect(savedSteps()).toEqual([20, 22]);
  });

  it('reports its progress by rank 0 alone, in a file for its pod', async () => {
    const attempt = await start('--steps=3');
    await ends(attempt, [0, 0]);
    expect([0, 1].map((pod) => readdirSync(progressIn(directory, pod)))).toEqual([['llm-0.json'], []]);
  });
});

/** Reads the first bytes from a pipe; its writer then blocks. */
async function firstBytes(pipe: string): Promise<Buffer> {
  const stream = createReadStream(pipe, { highWaterMark: 1024 });
  for await (const chunk of stream) return chunk as Buffer;
  throw new Error(`nothing was written to ${pipe}`);
}

function flipByte(file: string): void {
  const content = readFileSync(file);
  const middle = content.length >> 1;
  content.writeUInt8(content.readUInt8(middle) ^ 1, middle);
  writeFileSync(file, content);
}

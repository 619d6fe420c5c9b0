import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTrainingLog } from '../../testbed/training-log.ts';
import { until } from '../../testbed/until.ts';
import { processesOf, startAttempt, type TorchAttempt } from './attempt.ts';
import { openRestartIntake, type RestartIntake } from './intake.ts';

let directory = '';
let intake: RestartIntake;
let attempt: TorchAttempt | undefined;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'kcover-in-process-'));
  intake = await openRestartIntake(directory);
});
afterEach(async () => {
  attempt?.kill();
  await attempt?.ended;
  await intake.close();
  rmSync(directory, { recursive: true, force: true });
});

async function train(): Promise<TorchAttempt> {
  const options = ['--steps=60', '--checkpoint-every=10', '--least-step-seconds=0.1', '--timeout-seconds=20'];
  const { environment } = intake;
  attempt = await startAttempt(directory, options, { script: 'train_in_process.py', ranks: 1, environment });
  return attempt;
}

/** The process that trains, not its torchrun. */
function trainerOf(rank: number): number {
  const found = processesOf(directory).find((pid) => {
    const [script] = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      .split('\0')
      .slice(-20)
      .filter((one) => one.endsWith('.py'));
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    return script !== undefined && environment.includes(`RANK=${rank}`);
  });
  if (found === undefined) throw new Error(`rank ${rank} does not run`);
  return found;
}

describe('two ranks that kcover asks to restart training in their processes', () => {
  it('train on from the last checkpoint in a new group, after one of them had stood still, and no process has ended', async () => {
    const { says, said, ended } = await train();
    await says(/^rank 0: step 25 /);
    const before = [trainerOf(0), trainerOf(1)];
    // Longer than the time-out of a collective, which the other rank is in.
    process.kill(before[1] ?? 0, 'SIGSTOP');
    await says(/^rank 0: leaves the group: /);
    process.kill(before[1] ?? 0, 'SIGCONT');
    intake.ask('incident#1', 120_000);
    await says(/^rank 0: resumes from step 20,/);
    expect([trainerOf(0), trainerOf(1)]).toEqual(before);
    expect({ codes: await ended, said: said() }).toEqual({ codes: [0, 0], said: expect.anything() });
    expect(readTrainingLog(said().join('\n')).resumedFrom).toBe(20);
    expect(intake.written.at(-1)).toEqual({ id: 'incident#1', accepted: [], done: expect.arrayContaining([0, 1]) });
    expect(said().filter((line) => /^rank \d: accepted/.test(line))).toHaveLength(2);
  });

  it('leave the group together when they are asked while they train', async () => {
    const { says, said, ended } = await train();
    await says(/^rank 0: step 15 /);
    intake.ask('incident#1', 120_000);
    await says(/^rank 0: resumes from step [12]0,/);
    expect({ codes: await ended, said: said() }).toEqual({ codes: [0, 0], said: expect.anything() });
    expect(intake.written.at(-1)).toEqual({ id: 'incident#1', accepted: [], done: expect.arrayContaining([0, 1]) });
  });

  it('refuse, and fail, when one of them is gone', async () => {
    const { says, ended } = await train();
    await says(/^rank 0: step 15 /);
    process.kill(trainerOf(1), 'SIGKILL');
    await says(/^rank 0: leaves the group: /);
    intake.ask('incident#1', 120_000);
    const refused = await until('the refusal', 60_000, async () => {
      const answers = intake.written.at(-1);
      return answers?.refused ? { found: answers.refused } : { missing: JSON.stringify(answers) };
    });
    expect(refused).toMatchObject({ rank: 0, because: expect.stringContaining('cannot restart training: ') });
    expect(await ended).toEqual([1, 1]);
  });
});

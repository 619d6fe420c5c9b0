import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/rig.ts';
import { remedyRig, type RemedyRig } from './remedy-rig.ts';

const directory = mkdtempSync(join(tmpdir(), 'commands-'));
const program = (name: string, text: string): string[] => {
  const file = join(directory, name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return [file];
};
const marks = (name: string): string => join(directory, `${name}.marks`);
const command = (name: string, text: string, more: object = {}) => ({
  kind: 'command',
  command: program(name, `echo "$KCOVER_OPERATION $$" >> ${marks(name)}\n${text}`),
  ...more,
});

let rig: RemedyRig;
beforeAll(async () => {
  process.env['TEMPORAL_API_KEY'] = 'not for hooks';
  rig = await remedyRig({
    passes: command('passes', 'echo noise; echo "all well"'),
    environment: command('environment', 'env | sort > $(dirname $0)/environment'),
    fails: command('fails', 'echo "no GPU" >&2; exit 1'),
    unsure: command('unsure', 'echo \'{"because": "half of it"}\'; exit 2'),
    verbose: command('verbose', 'head -c 3000000 /dev/zero | tr "\\0" x; echo; echo end'),
    hangs: command('hangs', `(sleep 600 & echo "$!" >> ${marks('hangs')}; wait)`),
    leaves: command('leaves', `sleep 600 & echo "$!" >> ${marks('leaves')}; echo done`),
    crashes: command('crashes', 'kill -SEGV $$'),
    again: command('again', `[ $(wc -l < ${marks('again')}) -gt 1 ] || sleep 600`, { idempotent: true }),
    absent: { kind: 'command', command: ['/nowhere/reset'] },
    shell: { kind: 'command', command: ['/bin/echo', '$KCOVER_NODE; `id`'] },
  });
});
afterAll(() => rig.close());

const marked = (name: string): readonly string[] =>
  existsSync(marks(name)) ? readFileSync(marks(name), 'utf8').trim().split('\n') : [];

/** Whether the process has ended: a signal of number 0 is only checked. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A killed process stays until its parent has looked at it.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return true;
  }
}
/** All processes of the program: its own and the one that it started. */
const allGone = (name: string) =>
  eventually(
    async () => marked(name).map((line) => Number(line.split(' ').at(-1))),
    (pids) => pids.length > 1 && pids.every(isGone),
  );

describe('a hook that is a program', () => {
  it.each([
    ['passes', 'passed', 'it ended with exit code 0: all well'],
    ['fails', 'failed', 'it ended with exit code 1: no GPU'],
    ['unsure', 'unknown', 'half of it'],
    ['verbose', 'passed', 'it ended with exit code 0: end'],
    ['crashes', 'unknown', expect.stringContaining('was ended by SIGSEGV')],
    ['absent', 'failed', expect.stringContaining('it cannot be started: ')],
    ['shell', 'passed', 'it ended with exit code 0: $KCOVER_NODE; `id`'],
  ])('%s: %s', async (hook, verdict, because) => {
    expect(await rig.cluster.run('runHook', rig.request(hook))).toMatchObject({ verdict, because });
  });

  it('gets the facts of the operation, and nothing of the environment of the worker', async () => {
    const request = rig.request('environment');
    await rig.cluster.run('runHook', request);
    const names = readFileSync(join(directory, 'environment'), 'utf8');
    expect(names).toContain(`KCOVER_NODE=${request.node}\nKCOVER_OPERATION=${request.operation}\n`);
    expect(names).not.toContain('TEMPORAL');
    expect(names).not.toContain('HOME');
  });

  it('is killed with all that it started when its time is over', async () => {
    const result = await rig.cluster.run('runHook', rig.request('hangs', { timeoutMs: 1500 }));
    expect(result).toMatchObject({
      verdict: 'unknown',
      because: expect.stringContaining('within 1.5s and was killed'),
    });
    await allGone('hangs');
  });

  it('leaves no process behind', async () => {
    expect(await rig.cluster.run('runHook', rig.request('leaves'))).toMatchObject({ verdict: 'passed' });
    await allGone('leaves');
  });

  it('is killed when its activity is cancelled', async () => {
    const request = rig.request('hangs', { timeoutMs: 600_000 });
    const started = await rig.start(request);
    await eventually(
      async () => marked('hangs').some((line) => line.startsWith(request.operation)),
      (is) => is,
    );
    await started().cancel('released');
    await expect(started().result()).resolves.toMatchObject({ verdict: 'unknown' });
    await allGone('hangs');
  });
});

describe('a program that an earlier try has started', () => {
  const replaced = async (hook: string) => {
    const request = rig.request(hook, { timeoutMs: 600_000 });
    const started = await rig.start(request);
    const runs = () => marked(hook).filter((line) => line.startsWith(request.operation)).length;
    await eventually(
      async () => runs(),
      (count) => count === 1,
    );
    await rig.replaceWorker();
    const { verdict } = await started().result();
    return { verdict, runs: runs() };
  };

  it('is not started again, and its result is unknown', async () => {
    expect(await replaced('hangs')).toEqual({ verdict: 'unknown', runs: 1 });
  });

  it('is started again where that does no harm', async () => {
    expect(await replaced('again')).toEqual({ verdict: 'passed', runs: 2 });
  });
});

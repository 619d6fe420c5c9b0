/** Hook: a program in the container of the worker. Its exit code is the result. */

import { type ChildProcess, spawn } from 'node:child_process';
import type { HookResult } from '../../contract/remedy/remedy.ts';
import type { Hook } from '../../contract/settings/remediation.schema.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { hookEnvironment } from '../../kube/hooks/environment.ts';
import { failed, messageBytes, resultOfExit, unknown } from './answer.ts';
import { type HookRun, overdue } from './hook-run.ts';

/** How long after its end a process may keep the output open, ms: one that it left behind would keep it for ever. */
const lingerMs = 500;

/** Nothing of the worker's own environment, which has the credentials of Temporal. */
const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' } as const;

export async function runCommand(
  run: HookRun,
  { command, idempotent }: Extract<Hook, { kind: 'command' }>,
): Promise<HookResult> {
  const [path = '', ...args] = command;
  run.reference = `program ${path}`;
  if (run.isLater && !idempotent) return unknown('whether it acted is not known: an earlier try may have started it');
  const leftMs = run.deadline - run.dependencies.now();
  if (leftMs <= 0) return run.isLater ? unknown(overdue(run, path)) : failed('it could not be started in time');
  run.note({ begun: true });
  const child = spawn(path, args, {
    cwd: '/',
    env: { ...environment, ...hookEnvironment(run.request) },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return resultOf(run, child, { path, leftMs });
}

/** Ends the process and everything it started: it leads a process group of its own. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All have ended meanwhile.
  }
}

async function resultOf(
  run: HookRun,
  child: ChildProcess,
  { path, leftMs }: { readonly path: string; readonly leftMs: number },
): Promise<HookResult> {
  const { promise, resolve, reject } = Promise.withResolvers<HookResult>();
  const [output, errors] = [lastOf(child.stdout), lastOf(child.stderr)];
  const deadline = setTimeout(() => resolve(unknown(`${overdue(run, path)} and was killed`)), leftMs);
  const cancel = () => reject(run.signal.reason as Error);
  run.signal.addEventListener('abort', cancel);
  if (run.signal.aborted) cancel();
  let linger: NodeJS.Timeout | undefined;
  child.on('error', (error) => resolve(failed(`it cannot be started: ${foreignText(error.message, 200)}`)));
  child.once('exit', (exitCode, signal) => {
    const answer = () =>
      resolve(
        exitCode === null
          ? unknown(`${path} was ended by ${signal ?? 'a signal'}`)
          : resultOfExit(exitCode, output().trim() || errors(), run.request),
      );
    child.once('close', answer);
    linger = setTimeout(answer, lingerMs);
  });
  try {
    return await promise;
  } finally {
    clearTimeout(deadline);
    clearTimeout(linger);
    run.signal.removeEventListener('abort', cancel);
    endGroup(child);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

/** Keeps the end of a stream: a program that writes much is not ended for it. */
function lastOf(stream: NodeJS.ReadableStream | null): () => string {
  let kept = Buffer.alloc(0);
  stream?.on('error', () => undefined); // it is closed while it is read
  stream?.on('data', (part: Buffer) => {
    kept = Buffer.concat([kept, part]).subarray(-messageBytes);
  });
  return () => kept.toString('utf8');
}

/**
 * Runs one program of a site or a vendor, and never more than one process of it: a tool that waits for a broken device cannot be ended, and every
 * further one would wait too. Its output is bounded, it has a deadline, and it gets no environment of the agent.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { formatDuration } from '../../contract/settings/duration.ts';
import { reasonOf } from '../system-error.ts';

/** What a program wrote to stdout and to stderr. */
export interface Written {
  readonly output: string;
  readonly errors: string;
}

export type CommandAnswer =
  /** It ended with exit code 0. */
  | ({ readonly kind: 'sees' } & Written)
  /** It ended with another exit code: it ran, and reports a failure. */
  | ({ readonly kind: 'bad'; readonly exitCode: number } & Written)
  /** It did not run, or did not end by itself. Never evidence of a fault. */
  | { readonly kind: 'unobservable'; readonly because: string };

export interface CommandOptions {
  readonly path: string;
  readonly deadlineMs?: number;
  /** Most bytes that it may write. */
  readonly outputBytes?: number;
}

export interface Command {
  /** Never rejects. */
  run(args: readonly string[]): Promise<CommandAnswer>;
  /** Ends a process that still runs. */
  stop(): void;
}

/** What a healthy tool never takes. */
const usualDeadlineMs = 30_000;
const usualOutputBytes = 4 * 1024 * 1024;
/** How long after its end a process may keep the output open: one that it left behind would keep it forever. */
const lingerMs = 500;

const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' } as const;

const unobservable = (because: string): CommandAnswer => ({ kind: 'unobservable', because });

/** Ends the process and everything it started: it leads a process group of its own. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

export function createCommand(options: CommandOptions): Command {
  const { path, deadlineMs = usualDeadlineMs } = options;
  let running: ChildProcess | undefined;

  function begin(args: readonly string[]): ChildProcess {
    const child = spawn(path, args, {
      cwd: '/',
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running = child;
    const ended = (): void => {
      if (running === child) running = undefined;
    };
    child.once('exit', ended);
    child.on('error', ended);
    return child;
  }

  return {
    async run(args) {
      if (running !== undefined)
        return unobservable(`process ${running.pid} of ${path} has not ended, and no second one is started`);
      try {
        return await answerOf(begin(args), { path, deadlineMs, outputBytes: options.outputBytes ?? usualOutputBytes });
      } catch (error) {
        return unobservable(`${path} cannot be started: ${reasonOf(error)}`);
      }
    },
    stop() {
      if (running === undefined) return;
      endGroup(running);
      // One that waits for a device cannot be ended, and must not keep the agent from ending.
      running.unref();
    },
  };
}

function answerOf(
  child: ChildProcess,
  { path, deadlineMs, outputBytes }: Required<CommandOptions>,
): Promise<CommandAnswer> {
  const { promise, resolve } = Promise.withResolvers<CommandAnswer>();
  const parts: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  let bytes = 0;
  let isAnswered = false;
  const giveUp = (because: string): void => {
    endGroup(child);
    resolve(unobservable(because));
  };
  const closeOutput = (): void => {
    child.stdout?.destroy();
    child.stderr?.destroy();
  };
  const deadline = setTimeout(() => giveUp(`${path} did not end within ${formatDuration(deadlineMs)}`), deadlineMs);
  let linger: NodeJS.Timeout | undefined;
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('error', () => undefined); // it is closed where the output is too long
    child[stream]?.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > outputBytes) giveUp(`${path} wrote more than ${outputBytes} bytes`);
      else parts[stream].push(part);
    });
  }
  child.on('error', (error) => resolve(unobservable(`${path} cannot be started: ${reasonOf(error)}`)));
  child.once('exit', () => {
    if (isAnswered) return;
    linger = setTimeout(() => {
      endGroup(child);
      closeOutput();
    }, lingerMs);
  });
  child.once('close', (exitCode, signal) => {
    const textOf = (stream: keyof typeof parts): string => Buffer.concat(parts[stream]).toString('utf8');
    const written = { output: textOf('stdout'), errors: textOf('stderr') };
    if (exitCode === null) resolve(unobservable(`${path} was ended by ${signal ?? 'a signal'}`));
    else resolve(exitCode === 0 ? { kind: 'sees', ...written } : { kind: 'bad', exitCode, ...written });
  });
  return promise.finally(() => {
    isAnswered = true;
    clearTimeout(deadline);
    clearTimeout(linger);
    closeOutput();
  });
}

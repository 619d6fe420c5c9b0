import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pidsOf } from '../run-directory.ts';

/** One server process that can be killed and restarted on the same port and data. */
export interface Server {
  readonly name: string;
  /** Path of its log; restarts append. */
  readonly log: string;
  /** Undefined while it is not running. */
  readonly pid: number | undefined;
  /** Starts it if it is not running and waits until it is ready. */
  start(): Promise<void>;
  /** Sends a signal. Resolves at once for SIGSTOP and SIGCONT, else when the process has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Sends SIGTERM, and SIGKILL after five seconds. */
  stop(): Promise<void>;
}

export interface ServerPlan {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** In addition to HOME, TMPDIR and PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called before every launch. */
  readonly before?: () => Promise<unknown>;
  /** Restarted when it ends by itself, as by a Deployment or systemd; not after `kill` or `stop`. */
  readonly kept?: boolean;
  /** What is still missing, or undefined when ready. */
  readonly missing: () => Promise<string | undefined>;
}

const readyWithin = 60_000;
const startAgainAfter = 300;

export function server(runDirectory: string, plan: ServerPlan): Server {
  return new ServerProcess(runDirectory, plan);
}

class ServerProcess implements Server {
  readonly name: string;
  readonly log: string;
  private readonly directory: string;
  private readonly plan: ServerPlan;
  private child: ChildProcess | undefined;
  private exit: Promise<string> = Promise.resolve('not started');
  /** Between `start` and `kill` or `stop`. */
  private wanted = false;
  private wasReady = false;

  constructor(directory: string, plan: ServerPlan) {
    this.directory = directory;
    this.plan = plan;
    this.name = plan.name;
    this.log = join(directory, 'logs', `${plan.name}.log`);
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  async start(): Promise<void> {
    this.wanted = true;
    if (this.child === undefined) await this.launch();
    const deadline = Date.now() + readyWithin;
    for (let missing: string | undefined = 'not asked yet'; ; await sleep(40)) {
      // A server that was ready before ends for a reason outside of it, and is restarted.
      if (this.child === undefined && !(this.plan.kept && this.wanted && this.wasReady))
        throw this.failure(`it ended (${await this.exit})`);
      missing = this.child === undefined ? `it ended (${await this.exit})` : await this.plan.missing();
      if (missing === undefined && this.child !== undefined) break;
      if (Date.now() > deadline) {
        await this.kill('SIGKILL');
        throw this.failure(`not ready after ${readyWithin / 1000} s: ${missing}`);
      }
    }
    this.wasReady = true;
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const ends = signal !== 'SIGSTOP' && signal !== 'SIGCONT';
    if (ends) this.wanted = false;
    this.child?.kill(signal);
    if (ends) await this.exit;
  }

  async stop(): Promise<void> {
    const force = setTimeout(() => this.child?.kill('SIGKILL'), 5000);
    await this.kill('SIGTERM');
    clearTimeout(force);
  }

  private async launch(): Promise<void> {
    await this.plan.before?.();
    if (!existsSync(pidsOf(this.directory)))
      throw new Error(
        `cannot start ${this.name}\n  because: its test cluster has been stopped\n  try:     start another test cluster`,
      );
    // Another call has started it, or it was stopped in the meantime.
    if (this.child !== undefined || !this.wanted) return;
    const temporary = join(this.directory, 'tmp', this.name);
    mkdirSync(temporary, { recursive: true });
    mkdirSync(join(this.directory, 'logs'), { recursive: true });
    const log = openSync(this.log, 'a');
    // An environment of its own: a proxy or a kubeconfig of the user must not affect the servers.
    const env = { HOME: temporary, TMPDIR: temporary, PATH: '/usr/bin:/bin', ...this.plan.env };
    const child = spawn(this.plan.program, this.plan.args, { cwd: this.directory, env, stdio: ['ignore', log, log] });
    closeSync(log);
    this.child = child;
    if (child.pid !== undefined) writeFileSync(join(pidsOf(this.directory), this.name), String(child.pid));
    this.exit = new Promise((resolve) => {
      const gone = (how: string): void => {
        this.child = undefined;
        if (this.plan.kept) this.startAgain();
        resolve(how);
      };
      child.once('error', (error) => gone(error.message));
      child.once('exit', (code, signal) => gone(signal ?? `code ${code}`));
    });
  }

  /** Retries, also while a dependency is down, until it is stopped or the test cluster has ended. */
  private startAgain(): void {
    const again = (): void => {
      if (!this.wanted || this.child !== undefined || !existsSync(pidsOf(this.directory))) return;
      this.launch().catch(() => this.startAgain());
    };
    setTimeout(again, startAgainAfter).unref();
  }

  private failure(because: string): Error {
    let tail = '';
    try {
      tail = readFileSync(this.log, 'utf8').trim().split('\n').slice(-15).join('\n           ');
    } catch {
      // It ended before it wrote a log.
    }
    return new Error(
      `cannot start ${this.name}\n  because: ${because}\n           ${tail}\n  try:     read ${this.log}`,
    );
  }
}

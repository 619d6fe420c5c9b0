/** One attempt of the example trainer: two pods on loopback, each a torchrun with two ranks, as examples/training/pytorchjob.yaml starts them. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../../testbed/until.ts';

const scripts = fileURLToPath(new URL('../../examples/training/', import.meta.url));
const pods = [0, 1] as const;

export interface TorchAttempt {
  /** Log lines so far, without times: `rank 0: step 3 loss 0.123456 rate 9.87 steps/s`. */
  readonly said: () => readonly string[];
  /** Waits for a matching line. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends SIGTERM to the first process of each pod, as a kubelet does. */
  terminate(): void;
  /** Kills every process of both pods at once. */
  kill(): void;
  /** The exit codes of both pods; null: killed. */
  readonly ended: Promise<readonly (number | null)[]>;
}

export const checkpointsIn = (directory: string): string => join(directory, 'checkpoints');

/** Progress directory of a pod; each pod has its own node. */
export const progressIn = (directory: string, pod: number): string => join(directory, `node-${pod}`);

export interface PodOptions {
  readonly script?: string;
  /** Ranks of each pod. */
  readonly ranks?: number;
  readonly environment?: (pod: number) => Readonly<Record<string, string>>;
}

export async function startAttempt(
  directory: string,
  options: readonly string[],
  more: PodOptions = {},
): Promise<TorchAttempt> {
  const port = await freePort();
  const children = pods.map((pod) => startPod(directory, pod, port, options, more));
  let text = '';
  for (const child of children)
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const said = (): readonly string[] => text.split('\n').map((line) => line.replace(/^\S+ (?=rank \d)/, ''));
  return {
    said,
    says: (pattern) =>
      until(`the line ${pattern.source}`, 300_000, () => {
        const found = firstMatch(said(), pattern);
        return Promise.resolve(found ? { found } : { missing: `what was said:\n${text.slice(-3000)}` });
      }),
    terminate: () => {
      for (const child of children) child.kill('SIGTERM');
    },
    kill: () => {
      for (const pid of processesOf(directory)) killUnlessGone(pid);
    },
    ended: Promise.all(children.map((child) => new Promise<number | null>((resolve) => child.once('close', resolve)))),
  };
}

function startPod(
  directory: string,
  pod: number,
  port: number,
  options: readonly string[],
  { script = 'train.py', ranks = 2, environment = () => ({}) }: PodOptions,
): ChildProcess {
  mkdirSync(progressIn(directory, pod), { recursive: true });
  const torchrun = [
    '-m',
    'torch.distributed.run',
    '--nnodes=2',
    `--nproc_per_node=${ranks}`,
    `--node_rank=${pod}`,
    '--master_addr=127.0.0.1',
    `--master_port=${port}`,
  ];
  return spawn(
    process.env['PYTHON'] ?? 'python3',
    [...torchrun, join(scripts, script), `--checkpoints=${checkpointsIn(directory)}`, '--log-every=1', ...options],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        PROGRESS_DIR: progressIn(directory, pod),
        JOB_NAME: 'llm',
        REPLICA_INDEX: '0',
        ...(pod > 0 && { RANK_OFFSET: String(pod) }),
        GLOO_SOCKET_IFNAME: 'lo',
        OMP_NUM_THREADS: '1',
        PYTHONDONTWRITEBYTECODE: '1',
        // torchrun 1.13 on Python 3.11 fails on its default (no redirection). This setting names a local rank that does not exist.
        PET_REDIRECTS: '9:1',
        PET_TEE: '9:1',
        ...environment(pod),
      },
    },
  );
}

function firstMatch(lines: readonly string[], pattern: RegExp): RegExpExecArray | undefined {
  for (const line of lines) {
    const match = pattern.exec(line);
    if (match) return match;
  }
  return undefined;
}

function killUnlessGone(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Processes with the directory in their arguments. */
export function processesOf(directory: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => argumentsOf(name).includes(directory))
    .map(Number);
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // It ended meanwhile.
  }
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}

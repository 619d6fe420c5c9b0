import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A program that could not be built or found: what, because (its last lines), try. */
export class PartError extends Error {
  constructor(what: string, because: string, attempt: string, options?: ErrorOptions) {
    super(`${what}\n  because: ${because.trim().split('\n').join('\n           ')}\n  try:     ${attempt}`, options);
    this.name = 'PartError';
  }
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Receives each line of the error stream as it arrives. */
  readonly onErrorLine?: (line: string) => void;
}

export interface Finished {
  /** 127 when the program could not be started. */
  readonly code: number;
  readonly stdout: string;
  /** The last lines of both streams, for error messages. */
  readonly tail: string;
}

/** Runs a command to its end. Never rejects: a missing program is a result too. */
export function run(command: Command): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn(command.file, command.args, {
      env: command.env,
      cwd: command.cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let recent = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      recent = (recent + chunk.toString()).slice(-4000);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      recent = (recent + chunk.toString()).slice(-4000);
    });
    if (command.onErrorLine) createInterface(child.stderr).on('line', command.onErrorLine);
    const tail = (): string => recent.trim().split('\n').slice(-15).join('\n');
    child.once('error', (error) => resolve({ code: 127, stdout, tail: error.message }));
    child.once('close', (code, signal) =>
      resolve({ code: code ?? 1, stdout, tail: signal ? `${tail()}\nended by ${signal}` : tail() }),
    );
  });
}

/** Runs a command that must succeed. */
export async function must(command: Command, what: string, attempt: string): Promise<string> {
  const { code, stdout, tail } = await run(command);
  if (code !== 0)
    throw new PartError(what, `${command.file} ${command.args.join(' ')} ended with code ${code}\n${tail}`, attempt);
  return stdout;
}

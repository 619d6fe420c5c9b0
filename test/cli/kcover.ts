import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { compileCache } from '../../testbed/parts/environment.ts';

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export const program = fileURLToPath(new URL('../../bin/kcover.js', import.meta.url));

export const nowhere = { KUBECONFIG: '/nonexistent', TEMPORAL_ADDRESS: '127.0.0.1:1' };

/** Runs the program as a person would; without access to Kubernetes or Temporal unless `to` gives some. */
export async function kcover(
  args: readonly string[],
  stdin = '',
  to: Readonly<Record<string, string>> = nowhere,
  file = program,
): Promise<Ran> {
  const env = { ...compileCache(), PATH: process.env['PATH'], HOME: '/nonexistent', USER: 'ada', ...to };
  const child = spawn(process.execPath, [file, ...args], { env });
  child.stdin.end(stdin);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.on('close', resolve)),
  ]);
  return { code, stdout, stderr };
}

import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { commandLine } from './process-id.ts';
import { killChildren } from './run-directory.ts';
import { removeRemains } from './real-nodes/remains.ts';
import type { Ports } from './servers/ports.ts';

/** Ends a test cluster from what its directory records, so that it works at any moment of its start too. */
export function endOf(directory: string, ports: Ports, keep: boolean): () => Promise<void> {
  const atExit = (): void => {
    killChildren(directory);
    removeRemains(directory);
    ports.release();
    if (!keep) rmSync(directory, { recursive: true, force: true });
  };
  process.once('exit', atExit);
  let ending: Promise<void> | undefined;
  const finish = async (): Promise<void> => {
    const killed = killChildren(directory);
    while (killed.some((pid) => commandLine(pid).includes(directory))) await sleep(10);
    removeRemains(directory);
    ports.release();
    if (!keep) await rm(directory, { recursive: true, force: true, maxRetries: 10 });
    process.removeListener('exit', atExit);
  };
  return () => (ending ??= finish());
}

/** Ctrl-C and SIGTERM end the test cluster, then the process. Returns a function that removes the handlers. */
export function stopOnSignals(cluster: { stop(): Promise<void> }): () => void {
  const codes = { SIGINT: 130, SIGTERM: 143 } as const;
  const undo = (['SIGINT', 'SIGTERM'] as const).map((signal) => {
    const listener = (): void => void cluster.stop().finally(() => process.exit(codes[signal]));
    // Not `once`: npm forwards a signal that the terminal has sent already, and the second one must not interrupt the shutdown.
    process.on(signal, listener);
    return () => process.removeListener(signal, listener);
  });
  return () => undo.forEach((each) => each());
}

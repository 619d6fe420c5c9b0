import { cpus, loadavg, totalmem } from 'node:os';

/** What the figures were taken on. */
export interface BenchMachine {
  readonly cores: number;
  readonly memoryGiB: number;
  readonly node: string;
  /** Mean of the last minute, when the measuring ended. */
  readonly load: number;
}

export const thisMachine = (): BenchMachine => ({
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
});

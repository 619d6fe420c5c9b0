import { cpus, loadavg, totalmem } from 'node:os';

/** The machine on which the figures were measured. */
export interface BenchMachine {
  readonly cores: number;
  readonly memoryGiB: number;
  readonly node: string;
  /** Load average of the last minute at the end of the measurement. */
  readonly load: number;
}

export const thisMachine = (): BenchMachine => ({
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
});

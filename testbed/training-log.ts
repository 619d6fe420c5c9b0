/** Parses the log of the trainer of examples/training, as its pods print it. */

/** A rank that received SIGTERM, and what it logged about that. */
export interface TerminationNotice {
  readonly rank: number;
  readonly said: string;
}

export interface TrainingLog {
  /** The loss of each reported step, by step. */
  readonly losses: ReadonlyMap<number, number>;
  /** The step of the checkpoint from which it began; undefined when it began from scratch, or has not logged it yet. */
  readonly resumedFrom: number | undefined;
  /** Steps that were saved. */
  readonly saved: readonly number[];
  readonly sigterm: readonly TerminationNotice[];
}

/** Lines of all ranks of one attempt; lines of others, such as torchrun's own, are left out. */
export function readTrainingLog(text: string): TrainingLog {
  const lines = text.split('\n').flatMap((line) => {
    const [, rank, said] = /(?:^|\s)rank (\d+): (.*)$/.exec(line) ?? [];
    return rank === undefined || said === undefined ? [] : [{ rank: Number(rank), said }];
  });
  const numbersIn = (pattern: RegExp): number[][] =>
    lines.flatMap(({ said }) => [pattern.exec(said)?.slice(1).map(Number) ?? []]).filter(({ length }) => length > 0);
  return {
    losses: new Map(numbersIn(/^step (\d+) loss ([\d.]+) rate /).map(([step = NaN, loss = NaN]) => [step, loss])),
    resumedFrom: numbersIn(/^resumes from step (\d+),/)[0]?.[0],
    saved: numbersIn(/^saved step (\d+)$/).flat(),
    sigterm: lines.filter(({ said }) => /^(?:SIGTERM|told to end):/.test(said)),
  };
}

/** What the lines of a trainer's container log say, and the interface of the reader that finds it. */

import type { LogFormat } from '../../contract/progress/logs.ts';
import type { OwnPattern } from './own/own-pattern.ts';

/** The order is that in which `auto` tries them. */
export { logFormats as presetNames, type LogFormat as PresetName } from '../../contract/progress/logs.ts';

export const logPhases = ['training', 'saving', 'evaluating', 'compiling'] as const;
export type LogPhase = (typeof logPhases)[number];

/** A step is done. It ends every other phase. */
export interface StepEvent {
  readonly kind: 'step';
  readonly step: number;
  readonly total?: number;
  /** Duration of one step as the trainer prints it, ms. */
  readonly stepMs?: number;
}

/** A checkpoint is complete: never when saving only begins or is only scheduled. Without a step where the line has none. */
export interface CheckpointEvent {
  readonly kind: 'checkpoint';
  readonly step?: number;
}

/** No step is expected while the phase is not `training`. */
export interface PhaseEvent {
  readonly kind: 'phase';
  readonly phase: LogPhase;
}

/**
 * What watches over collectives or over the process says.
 * `timeout`: a collective did not end in time. `position`: how far a rank was when its watchdog found the failure. `dump`: the same, when `from`
 * reported a timeout to the others. `stuck`: the watchdog itself stands still. `heartbeat`, `section`: those of nvidia-resiliency-ext.
 */
export interface WatchdogEvent {
  readonly kind: 'watchdog';
  readonly what: 'timeout' | 'position' | 'dump' | 'stuck' | 'heartbeat' | 'section';
  /** Rank in the job of the process whose watchdog it is. Absent where the line has none. */
  readonly rank?: number;
  /** Rank that reported the timeout; absent where it is this rank itself. */
  readonly from?: number;
  /** Process group: its number, and its name where the line has it. Numbers of collectives are counted in each group. */
  readonly group?: string;
  /** Sequence number of the collective. */
  readonly sequence?: number;
  /** Such as ALLREDUCE. */
  readonly operation?: string;
  /** -1 before the first. */
  readonly lastEnqueued?: number;
  readonly lastCompleted?: number;
}

/** The root cause in torchrun's report: the first failure that it saw on its own node. */
export interface TorchrunEvent {
  readonly kind: 'torchrun';
  readonly rank: number;
  readonly localRank?: number;
  readonly host?: string;
  /** Negative: the number of a signal. */
  readonly exitCode?: number;
}

/** A report of the trainer names this rank as its slowest. */
export interface StragglerEvent {
  readonly kind: 'straggler';
  readonly rank: number;
}

export type LogEvent = StepEvent | CheckpointEvent | PhaseEvent | WatchdogEvent | TorchrunEvent | StragglerEvent;

/** Patterns of the user's own: they replace the preset's steps, or its checkpoints, or both. */
export interface OwnPatterns {
  /** Has the named group `step`. */
  readonly step?: OwnPattern;
  /** Has the named group `checkpoint`: the step of a checkpoint that is complete. */
  readonly checkpoint?: OwnPattern;
}

export interface LogReaderOptions {
  /** `auto`: the first preset that finds a step above 0 or a checkpoint. Those for progress bars and for DeepSpeed yield to a later one of another. */
  readonly preset: LogFormat | 'auto';
  readonly patterns?: OwnPatterns;
}

/** Reads one log, line by line. Never throws; its memory is bounded, whatever the lines say. */
export interface LogReader {
  /** A whole line as the process wrote it, without the runtime's prefix (`cri-line.ts`) and without its line break. */
  take(line: string): readonly LogEvent[];
  /** Undefined while `auto` has found none. */
  readonly preset: LogFormat | undefined;
}

/** Signature of `createLogReader` in `log-reader.ts`. */
export type CreateLogReader = (options: LogReaderOptions) => LogReader;

/** Progress that agents read in the logs of containers, of jobs that write no progress file. */

import type { ProgressPhase } from './progress.ts';

/** What agents send: `POST /v1/logs`. As with progress files, only the newest counts: nothing is spooled. */
export const logPath = '/v1/logs';

export const logLimits = {
  /** Logs that are followed on one node. */
  perNode: 32,
  /** Characters of a user's own pattern. */
  pattern: 200,
  /** Lines of watchdogs in one report. */
  watchdogs: 16,
} as const;

/** Formats of training logs, in the order in which `auto` tries them. `megatron`: also Megatron Bridge and MindSpeed; `huggingface`: also LLaMA-Factory. */
export const logFormats = [
  'megatron',
  'nemo',
  'torchtitan',
  'maxtext',
  'mindformers',
  'paddle',
  'lightning',
  'huggingface',
  // Last, because trainers with a bar of their own run on it, and it prints few steps.
  'deepspeed',
] as const;
export type LogFormat = (typeof logFormats)[number];

/** `auto`: the format that the log turns out to have. */
export const logChoices = ['auto', 'off', ...logFormats] as const;
export type LogChoice = (typeof logChoices)[number];

/** Patterns of the job's owner or of the operator, as text. */
export interface LogPatterns {
  /** Has the named group `step`. */
  readonly step?: string;
  /** Has the named group `checkpoint`. */
  readonly checkpoint?: string;
}

/** How the log of a job is read that chooses neither a format nor patterns. */
export interface LogDefaults {
  readonly format: LogChoice;
  readonly step?: string | undefined;
  readonly checkpoint?: string | undefined;
}

/** A log that the controller wants to be followed. It answers every report of an agent with the list for its node. */
export interface WantedLog {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
  readonly format: Exclude<LogChoice, 'off'>;
  readonly patterns?: LogPatterns;
}

/** What a watchdog wrote about a rank. */
export interface LoggedWatchdog {
  /** RFC 3339, ms, the node's clock. */
  readonly at: string;
  readonly what: 'timeout' | 'position' | 'dump' | 'stuck' | 'heartbeat' | 'section';
  /** Of the process that writes. */
  readonly rank?: number;
  /** Of a dump: the rank that asked for it. */
  readonly from?: number;
  /** Process group: its description where there is one, otherwise its number. */
  readonly group?: string;
  readonly operation?: string;
  readonly sequence?: number;
  readonly lastEnqueued?: number;
  readonly lastCompleted?: number;
}

/** The rank that the trainer's last reports name as the slowest. */
export interface LoggedStraggler {
  /** Of the last one: RFC 3339, ms, the node's clock. */
  readonly at: string;
  readonly rank: number;
  /** How many in a row. */
  readonly reports: number;
}

/** What the log of the present container says. Times are those of its lines: RFC 3339, ms, the node's clock. */
export interface LogReport {
  /** UID of the pod. */
  readonly pod: string;
  /** Time of the last line that said anything of this. */
  readonly at: string;
  readonly step?: number;
  readonly stepAt?: string;
  /** Step of the last complete checkpoint. */
  readonly checkpointStep?: number;
  readonly checkpointAt?: string;
  /** Since `phaseAt`, in place of training. */
  readonly phase?: ProgressPhase;
  readonly phaseAt?: string;
  /** The last ones, oldest first. */
  readonly watchdogs?: readonly LoggedWatchdog[];
  readonly straggler?: LoggedStraggler;
}

export interface LogReports {
  readonly schema: 1;
  readonly node: string;
  /** UIDs of the pods whose logs the agent reads now. A log that it cannot read is no witness of anything. */
  readonly read: readonly string[];
  /** At most one of each followed log. */
  readonly logs: readonly LogReport[];
}

/** Answer 200: for each report, in order, whether it counts. It counts if its lines are of the present container of a pod on that node. */
export interface LogAnswer {
  readonly counted: readonly boolean[];
}

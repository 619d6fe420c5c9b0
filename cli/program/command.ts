/** The description of a command: the command line, its help and its reference page are generated from it. */

import type { exitCodes } from '../../contract/errors.ts';
import type { CliEnvironment } from './environment.ts';
import type { Session } from '../clients/session.ts';

export type ExitName = keyof typeof exitCodes;

export interface Argument {
  /** `<job>` is required, `[lines...]` is optional. */
  readonly name: string;
  readonly describe: string;
  readonly choices?: readonly string[];
}

export interface Option {
  /** `-n, --namespace <name>` */
  readonly flags: string;
  readonly describe: string;
  readonly byDefault?: string;
  readonly choices?: readonly string[];
  /** The command fails without it. */
  readonly required?: true;
}

/** Parsed arguments and options, by name. */
export interface Typed {
  argument(name: string): string;
  arguments(name: string): readonly string[];
  option(name: string): string | undefined;
  /** Value of an option that is required or has a default. */
  value(name: string): string;
  flag(name: string): boolean;
}

export interface CommandContext {
  readonly environment: CliEnvironment;
  readonly session: Session;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** One thing that an output is about: `--watch` in a pipe prints it when it has changed. */
export interface WatchedItem {
  /** Its name, the same in every look. */
  readonly about: string;
  /** What it is now, in one line without times that pass. */
  readonly line: string;
  readonly data: unknown;
}

/** Output of a command: as data, and as text. */
export interface CommandOutput {
  readonly data: unknown;
  readonly text: string;
  /** Of a command with `--watch`. */
  readonly items?: readonly WatchedItem[];
  /** Default: `ok`. */
  readonly exit?: ExitName;
}

/** One command. `run` resolves to what is printed, or to the exit code alone. */
export interface CommandEntry {
  /** One sentence. */
  readonly summary: string;
  readonly arguments: readonly Argument[];
  readonly options: readonly Option[];
  readonly examples: readonly [string, string];
  /** Exit codes other than ok, failed, usage and bug, which every command has. */
  readonly exits: readonly ExitName[];
  run(typed: Typed, context: CommandContext): Promise<CommandOutput | ExitName>;
}

export const outputFormats = ['table', 'json', 'yaml'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Options that several commands share. */
export const sharedOptions = {
  output: { flags: '-o, --output <format>', describe: 'How to print', byDefault: 'table', choices: outputFormats },
  watch: {
    flags: '-w, --watch',
    describe:
      'Look again 2s after each answer, until Ctrl-C: on a terminal the view is drawn anew in place, in a pipe each change is a line, or a document with --output json or yaml',
  },
  namespace: {
    flags: '-n, --namespace <name>',
    describe: 'Kubernetes namespace of the job; the current one of the kubeconfig otherwise',
  },
  kubeconfig: { flags: '--kubeconfig <file>', describe: 'Kubeconfig file; what kubectl would take otherwise' },
  taskQueue: { flags: '--task-queue <name>', describe: 'Temporal task queue of the workers', byDefault: 'kcover' },
  reason: { flags: '--reason <text>', describe: 'Why; recorded with what is done', required: true },
  hostRoot: { flags: '--host-root <directory>', describe: 'Where the file system of the node is', byDefault: '/' },
  records: {
    flags: '--records <directory>',
    describe: 'Also read the records of a worker, which outlive the retention of Temporal',
  },
  context: {
    flags: '--context <names>',
    describe:
      'Look at several clusters: contexts of the kubeconfig, such as a,b, each with the profile of the same name for Temporal; a,b=profile names another one',
  },
  workerConfig: {
    flags: '--config <file>',
    describe: 'Settings file of the worker: its taint, its limits; the defaults otherwise',
  },
  config: { flags: '--config <file>', describe: 'Settings file; all defaults without one' },
} as const satisfies Record<string, Option>;

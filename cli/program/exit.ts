/** Converts an error to the message on stderr and the exit code. */

import { CommanderError } from 'commander';
import { type ErrorCode, exitCodes, explainError, KcoverError } from '../../contract/errors.ts';
import type { ExitName } from './command.ts';

const exitOf: Readonly<Record<ErrorCode, ExitName>> = {
  'kube.unreachable': 'unreachable',
  'kube.throttled': 'unreachable',
  'kube.conflict': 'failed',
  'kube.forbidden': 'failed',
  'kube.invalid': 'failed',
  'name.invalid': 'usage',
  'node.gone': 'notFound',
  'job.gone': 'notFound',
  'temporal.unreachable': 'unreachable',
  'temporal.refused': 'failed',
  'cluster.other': 'failed',
  'temporal.attributes': 'failed',
  'notify.unreachable': 'unreachable',
  'notify.refused': 'failed',
  'loki.unavailable': 'failed',
  'settings.invalid': 'usage',
  'address.taken': 'failed',
  'file.unreadable': 'failed',
  'records.unwritable': 'failed',
  'wait.timeout': 'timedOut',
  'wait.otherwise': 'otherwise',
  usage: 'usage',
  refused: 'refused',
  'not-found': 'notFound',
};

/** Meaning of each exit code, for the reference pages. */
export const exitMeanings: Readonly<Record<ExitName, string>> = {
  ok: 'done',
  failed: 'it could not be done',
  usage: 'the command line or a settings file cannot be used',
  unknown: 'it cannot be said: for a hook of a repair, this is no pass',
  refused: 'policy refuses it; the message says why',
  notFound: 'there is no such job, node or workflow',
  unreachable: 'Kubernetes or Temporal did not answer',
  timedOut: 'the condition that was waited for did not hold in time',
  otherwise: 'the incident, or the workflow of the job, ended otherwise than waited for',
  bug: 'a defect of kcover',
};

/** Several problems in one error, each already in the form of `explainError`. */
export class Findings extends KcoverError {
  readonly report: string;

  constructor(code: ErrorCode, findings: readonly string[]) {
    super(code, `${findings.length} problems`);
    this.report = findings.join('\n\n');
  }
}

export interface ExitInfo {
  readonly code: number;
  /** For stderr; empty when there is nothing to add. */
  readonly message: string;
}

export function endingOf(error: unknown): ExitInfo {
  if (error instanceof Findings) return { code: exitCodes[exitOf[error.code]], message: error.report };
  if (error instanceof KcoverError) return { code: exitCodes[exitOf[error.code]], message: explainError(error) };
  if (error instanceof CommanderError) return endingOfCommander(error);
  if (isNotInstalled(error)) return { code: exitCodes.usage, message: explainError(notInstalled(error)) };
  const because = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    code: exitCodes.bug,
    message: `error[bug]: kcover did something it should not\n  because: ${because}\n  try:     report it with the command and this message`,
  };
}

const isNotInstalled = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';

const notInstalled = ({ message }: Error): KcoverError =>
  new KcoverError('usage', message.replaceAll('\n', ' '), {
    what: 'this installation does not have all of kcover',
    remedy:
      'use the image of the controllers and workers: that of the agents has only agent, classify, config check, doctor --role agent and redact',
  });

/** Commander also throws for help and version, which are no errors. Everything else that it throws is a usage error. */
function endingOfCommander(error: CommanderError): ExitInfo {
  if (error.exitCode === 0) return { code: exitCodes.ok, message: '' };
  return {
    code: exitCodes.usage,
    message: explainError(new KcoverError('usage', error.message.replace(/^error: /, '').replaceAll('\n', ' '))),
  };
}

/** Sends one request with report files, and applies its answers. */

import type { Logger } from 'pino';
import { reportFields } from '../../contract/preflight/preflight.ts';
import { type PreflightFile, type PreflightFileAnswer, preflightRefusals } from '../../contract/preflight/files.ts';
import type { ControllerConnection, Failure, FailureReason } from '../upload/connection.ts';
import type { AcknowledgedFiles } from './acknowledged-files.ts';
import type { RankFile } from '../files/rank-files.ts';
import type { RetrySchedule } from './waiting.ts';

/** A file and its content when it was read. */
export interface LoadedReport {
  readonly file: RankFile;
  readonly content: PreflightFile;
}

const knownReasons = [...preflightRefusals, ...reportFields];

/** Why a file was refused, as a bounded metric label. */
export type RefusedFor = (typeof knownReasons)[number] | FailureReason | 'other';

export interface ReportUpload {
  /** Files that were accepted. */
  readonly accepted: number;
  readonly refused: ReadonlyMap<RefusedFor, number>;
  /** Undefined when every file has an answer, or its own time to be sent again. */
  send(reports: readonly LoadedReport[]): Promise<Failure | undefined>;
}

export interface UploadOptions {
  readonly connection: Pick<ControllerConnection, 'postPreflight'>;
  readonly node: string;
  readonly acknowledged: AcknowledgedFiles;
  readonly waiting: RetrySchedule;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** The controller's answer starts with the reason in one word; otherwise the field that cannot be used. */
function refusedFor({ content }: LoadedReport, because = ''): RefusedFor {
  const known = knownReasons.find((reason) => because === reason || because.startsWith(`${reason}:`));
  return known ?? ('problem' in content ? content.problem.field : 'other');
}

export function createUpload({ connection, node, acknowledged, waiting, log, signal }: UploadOptions): ReportUpload {
  const refused = new Map<RefusedFor, number>();
  let accepted = 0;

  const count = (reason: RefusedFor): void => void refused.set(reason, (refused.get(reason) ?? 0) + 1);

  function settle(report: LoadedReport, { answer, because }: PreflightFileAnswer): void {
    const { file } = report;
    if (answer === 'wait') {
      waiting.again(file);
      return;
    }
    waiting.drop(file);
    acknowledged.add(file);
    if (answer === 'accepted') {
      accepted += 1;
      log.info({ file: file.key }, 'preflight report accepted');
    } else {
      count(refusedFor(report, because));
      log.warn({ file: file.key, because }, 'preflight report refused');
    }
  }

  /** A rejected request drops no file: the controller may have another version. */
  function retryLater({ file }: LoadedReport, { reason, because }: Failure): void {
    if (waiting.again(file) > 1) return;
    count(reason);
    log.error(
      { file: file.key, because },
      'the controller cannot read a request with this preflight report; it is sent again from time to time',
    );
  }

  async function send(reports: readonly LoadedReport[]): Promise<Failure | undefined> {
    const [first] = reports;
    if (first === undefined) return undefined;
    const answer = await connection.postPreflight(
      { schema: 1, node, sentAt: new Date().toISOString(), files: reports.map(({ content }) => content) },
      signal,
    );
    if (answer.kind === 'answered') {
      reports.forEach((report, at) => settle(report, answer.files[at] ?? { answer: 'wait' }));
      return undefined;
    }
    if (answer.kind !== 'rejected') return answer;
    if (reports.length === 1) {
      retryLater(first, answer);
      return undefined;
    }
    // One of the files makes the whole request invalid.
    const half = Math.ceil(reports.length / 2);
    return (await send(reports.slice(0, half))) ?? send(reports.slice(half));
  }

  return {
    get accepted() {
      return accepted;
    },
    refused,
    send,
  };
}

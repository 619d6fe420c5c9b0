/** One request with report files, and what its answers mean for them. */

import type { Logger } from 'pino';
import { reportFields } from '../../contract/preflight.ts';
import { type PreflightFile, type PreflightFileAnswer, preflightRefusals } from '../../contract/preflight-files.ts';
import type { ControllerConnection, Failure, Reason } from '../controller-connection.ts';
import type { Answered } from './answered.ts';
import type { RankFile } from '../rank-files.ts';
import type { Waiting } from './waiting.ts';

/** A file and what it held when it was read. */
export interface Letter {
  readonly file: RankFile;
  readonly content: PreflightFile;
}

const knownReasons = [...preflightRefusals, ...reportFields];

/** Why a file counts for nothing, for a metric: bounded. */
export type RefusedFor = (typeof knownReasons)[number] | Reason | 'other';

export interface Delivery {
  /** Files that were taken. */
  readonly taken: number;
  readonly refused: ReadonlyMap<RefusedFor, number>;
  /** Undefined when every file has its answer, or its own time to be sent again. */
  deliver(letters: readonly Letter[]): Promise<Failure | undefined>;
}

export interface DeliveryOptions {
  readonly connection: Pick<ControllerConnection, 'postPreflight'>;
  readonly node: string;
  readonly answered: Answered;
  readonly waiting: Waiting;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** The controller begins with the reason in one word; what the file itself lacks is the next best. */
function refusedFor({ content }: Letter, because = ''): RefusedFor {
  const told = knownReasons.find((reason) => because === reason || because.startsWith(`${reason}:`));
  return told ?? ('problem' in content ? content.problem.field : 'other');
}

export function createDelivery({ connection, node, answered, waiting, log, signal }: DeliveryOptions): Delivery {
  const refused = new Map<RefusedFor, number>();
  let taken = 0;

  const count = (reason: RefusedFor): void => void refused.set(reason, (refused.get(reason) ?? 0) + 1);

  function settle(letter: Letter, { answer, because }: PreflightFileAnswer): void {
    const { file } = letter;
    if (answer === 'wait') {
      waiting.again(file);
      return;
    }
    waiting.drop(file);
    answered.add(file);
    if (answer === 'taken') {
      taken += 1;
      log.info({ file: file.key }, 'preflight report taken');
    } else {
      count(refusedFor(letter, because));
      log.warn({ file: file.key, because }, 'preflight report refused');
    }
  }

  /** Nothing is dropped because a request is rejected: the controller may be of another version. */
  function setAside({ file }: Letter, { reason, because }: Failure): void {
    if (waiting.again(file) > 1) return;
    count(reason);
    log.error({ file: file.key, because }, 'the controller cannot read a request with this preflight report; it is sent again from time to time');
  }

  async function deliver(letters: readonly Letter[]): Promise<Failure | undefined> {
    const [first] = letters;
    if (first === undefined) return undefined;
    const answer = await connection.postPreflight({ schema: 1, node, sentAt: new Date().toISOString(), files: letters.map(({ content }) => content) }, signal);
    if (answer.kind === 'answered') {
      letters.forEach((letter, at) => settle(letter, answer.files[at] ?? { answer: 'wait' }));
      return undefined;
    }
    if (answer.kind !== 'rejected') return answer;
    if (letters.length === 1) {
      setAside(first, answer);
      return undefined;
    }
    // One of them spoils the request for all.
    const half = Math.ceil(letters.length / 2);
    return (await deliver(letters.slice(0, half))) ?? deliver(letters.slice(half));
  }

  return {
    get taken() {
      return taken;
    },
    refused,
    deliver,
  };
}

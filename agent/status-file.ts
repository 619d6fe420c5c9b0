/** Tells the pods of the node what kcover thinks of it, in a file that they mount read-only. */

import type { Logger } from 'pino';
import { type NodeNotice, type NodeStatusFile, statusFileName } from '../contract/node/notice.ts';
import { withDiskDeadline } from './files/disk-deadline.ts';
import { replaceOwnFile } from './files/own-file.ts';
import { reasonOf } from './system-error.ts';

export interface StatusFileOptions {
  /** Empty: no file is written. */
  readonly directory: string;
  readonly node: string;
  readonly heartbeatMs: number;
  readonly log: Logger;
  /** How often the agent looks whether to write, after which time it writes the same again, and after which time without an answer the state is unknown, ms. */
  readonly times?: { readonly look: number; readonly repeat: number; readonly silent: number };
}

export interface StatusFileStatus {
  /** Why the last write failed. */
  readonly unwritable?: string;
}

export interface StatusFile {
  /** A controller answered; without a notice it does not see the node, so that what it said before ages. */
  readonly answered: (notice: NodeNotice | undefined) => void;
  stop(): Promise<void>;
  status(): StatusFileStatus;
}

type Shown = Pick<NodeStatusFile, 'state' | 'because' | 'since' | 'reason' | 'incident'>;

const because: Readonly<Record<NodeStatusFile['state'], string>> = {
  healthy: 'kcover does not quarantine the node',
  quarantined: 'the node is quarantined: new pods are kept off it',
  draining: 'the node is quarantined, and pods are evicted before its repair',
  remediating: 'the node is quarantined and being repaired',
  verifying: 'the node is quarantined, and its repair is being tested',
  probation: 'the node was repaired, and is watched before it is released',
  retired: 'the machine has failed too often and is not repaired: a person must act',
  unknown: 'no controller has said for some time what it thinks of the node',
};

/** A leader is replaced within this time, ms. */
const replacedMs = 60_000;

export function startStatusFile({ directory, node, heartbeatMs, log, times }: StatusFileOptions): StatusFile {
  const {
    look: lookMs,
    repeat: repeatMs,
    silent: silentMs,
  } = times ?? {
    look: 5000,
    repeat: 60_000,
    silent: Math.max(replacedMs, 3 * heartbeatMs),
  };
  const startedMs = performance.now();
  let last: { readonly notice: NodeNotice; readonly at: string; readonly ms: number } | undefined;
  let saved = { text: '', ms: 0 };
  let isWriting = false;
  let unwritable: string | undefined;
  let looking = Promise.resolve();

  /** Undefined before the first answer: the file of the previous agent may still be right. */
  function shown(): Shown | undefined {
    if (performance.now() - (last?.ms ?? startedMs) >= silentMs) return { state: 'unknown', because: because.unknown };
    return last && { ...last.notice, because: because[last.notice.state] };
  }

  /** Writes what has changed, and the rest from time to time. One write at a time: one that hangs may still complete. */
  async function look(): Promise<void> {
    const now = shown();
    const text = JSON.stringify(now);
    if (!now || isWriting || (text === saved.text && performance.now() - saved.ms < repeatMs)) return;
    const content: NodeStatusFile = {
      schema: 1,
      node,
      ...now,
      writtenAt: new Date().toISOString(),
      ...(last && { lastAnswerAt: last.at }),
    };
    isWriting = true;
    try {
      await withDiskDeadline(
        replaceOwnFile(directory, statusFileName, `${JSON.stringify(content)}\n`, true).finally(() => {
          isWriting = false;
        }),
      );
      saved = { text, ms: performance.now() };
      unwritable = undefined;
    } catch (error) {
      if (unwritable === undefined)
        log.warn({ err: error, directory }, 'cannot write the status file; pods do not learn the state of the node');
      unwritable = reasonOf(error);
    }
  }

  if (directory === '') return { answered: () => undefined, stop: () => Promise.resolve(), status: () => ({}) };
  const lookNow = (): void => {
    looking = look();
  };
  const timer = setInterval(lookNow, lookMs);
  return {
    answered(notice) {
      if (!notice) return;
      last = { notice, at: new Date().toISOString(), ms: performance.now() };
      lookNow();
    },
    async stop() {
      clearInterval(timer);
      await looking;
    },
    status: () => (unwritable === undefined ? {} : { unwritable }),
  };
}

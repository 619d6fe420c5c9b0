/** Authenticates programs that report faults, by the bearer token in a file of each. */

import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { ExternalSender } from '../../contract/settings/external.schema.ts';
import { type Refusal, refused } from '../intake/reporter.ts';

/** A program whose token was accepted. */
export interface SenderIdentity {
  readonly kind: 'sender';
  readonly sender: ExternalSender;
}

export type AuthenticateSender = (authorization: string | undefined) => Promise<SenderIdentity | Refusal>;

/** Files are read again after this time, ms: a mounted Secret changes while the controller runs. */
const rereadMs = 10_000;
const shortest = 20;
const longest = 8192;

interface KnownToken {
  readonly sender: ExternalSender;
  /** Undefined while there is none that can be used. */
  readonly hash?: Buffer;
}

/** `now`: monotonic, ms. */
export function authenticateSenders(
  senders: readonly ExternalSender[],
  { now, log }: { readonly now: () => number; readonly log: Pick<Logger, 'warn'> },
): AuthenticateSender {
  let tokens: Promise<readonly KnownToken[]> | undefined;
  let readAt = -Infinity;
  const troubles = new Map<string, string>();

  async function read(sender: ExternalSender): Promise<KnownToken> {
    const token = await readFile(sender.tokenFile, 'utf8').then(
      (text) => text.trim(),
      () => undefined,
    );
    const trouble = whyNot(token);
    if (trouble !== undefined && troubles.get(sender.name) !== trouble)
      log.warn({ sender: sender.name, file: sender.tokenFile, because: trouble }, 'a sender of faults cannot report');
    troubles.set(sender.name, trouble ?? '');
    return token === undefined || trouble !== undefined ? { sender } : { sender, hash: hashOf(token) };
  }

  return async (authorization) => {
    const token = /^Bearer ([\w.~+/=-]{1,8192})$/i.exec(authorization?.slice(0, longest + 10) ?? '')?.[1];
    if (token === undefined) return refused('unauthenticated', 'a bearer token is needed');
    if (!tokens || now() - readAt > rereadMs) {
      readAt = now();
      tokens = Promise.all(senders.map(read));
    }
    const hash = hashOf(token);
    const known = (await tokens).find((each) => each.hash !== undefined && timingSafeEqual(each.hash, hash));
    return known ? { kind: 'sender', sender: known.sender } : refused('unauthenticated', 'the token is of no sender');
  };
}

function whyNot(token: string | undefined): string | undefined {
  if (token === undefined) return 'the file of its token cannot be read';
  if (token.length < shortest) return `its token has fewer than ${shortest} characters`;
  return /^[\w.~+/=-]{1,8192}$/.test(token) ? undefined : 'its token is not of one line of letters, digits and -._~+/=';
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

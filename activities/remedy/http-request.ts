/** One request to the server of a hook, bounded in time and size. What it answers is untrusted, and its token is in no answer of ours. */

import { readFile } from 'node:fs/promises';
import { KcoverError } from '../../contract/errors.ts';
import { boundedText, requestFailure } from '../../contract/http-answer.ts';
import { foreignText } from '../../faults/foreign-text.ts';

export interface HttpCall {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly token: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  /** Rejects with its reason when it aborts. */
  readonly signal: AbortSignal;
}

export type HttpAnswer =
  /** The connection was refused, so that nothing was sent. */
  | { readonly kind: 'unreachable'; readonly because: string }
  /** It may have been received. */
  | { readonly kind: 'unclear'; readonly because: string }
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly location: string | undefined;
      /** Undefined when it is too long. */
      readonly text: string | undefined;
    };

const mostBytes = 64 * 1024;

/** Before these errors no byte of the request was sent. */
const notConnected = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Sends the request; follows no redirect, which could carry the token to another host. */
export async function callHook(call: HttpCall): Promise<HttpAnswer> {
  const { token } = call;
  const clean = (text: string) => (token === undefined ? text : text.replaceAll(token, '[token]'));
  const deadline = AbortSignal.timeout(call.timeoutMs);
  try {
    const response = await fetch(call.url, {
      method: call.method,
      headers: {
        accept: 'application/json',
        ...call.headers,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(call.body !== undefined && { body: call.body }),
      redirect: 'manual',
      signal: AbortSignal.any([call.signal, deadline]),
    });
    const text = await boundedText(response, mostBytes);
    const { status } = response;
    const location = response.headers.get('location') ?? undefined;
    return { kind: 'answer', status, location, text: text === undefined ? undefined : clean(text) };
  } catch (error) {
    call.signal.throwIfAborted();
    if (deadline.aborted) return { kind: 'unclear', because: 'there was no answer in time' };
    const { code, message } = requestFailure(error);
    const because = foreignText(clean(message), 200);
    return { kind: notConnected.has(code) ? 'unreachable' : 'unclear', because };
  }
}

/** Read for each request: a mounted token is rotated. Throws `file.unreadable`. */
export async function tokenIn(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  let token: string;
  try {
    token = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new KcoverError('file.unreadable', error instanceof Error ? error.message : `cannot read ${file}`);
  }
  // In a header, another character would appear in the message of the error.
  if (!/^[\x21-\x7E]{1,8192}$/.test(token)) throw new KcoverError('file.unreadable', `${file} holds no bearer token`);
  return token;
}

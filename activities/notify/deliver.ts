/** Sends notifications to one receiver. Addresses and keys are read here, and stand in no history, log or Event. */

import { readFile } from 'node:fs/promises';
import { KcoverError } from '../../contract/errors.ts';
import { retryAfterMs } from '../../contract/retry-after.ts';
import { oneLine } from '../../contract/text.ts';
import type { Notification } from '../../contract/notify/notification.ts';
import type { NotificationRoute } from '../../contract/settings/notifications.schema.ts';
import { bodiesOf, type NotificationBody } from '../../policy/notify/formats.ts';

/** Bytes of an answer that are read, for the reason of a refusal. */
const mostBytes = 2048;

const pagerDutyUrl = 'https://events.pagerduty.com/v2/enqueue';

/** A receiver may ask to wait no longer, ms. */
const longestRetryAfterMs = 3_600_000;

/** Receivers that refuse for now. */
const forNow = new Set([408, 425, 429]);

/**
 * Sends notifications that wait together; `more`: older ones that were not kept. Throws `notify.unreachable` where it may work later, with
 * `retryAfterMs` where the receiver says when, and `notify.refused` where it never will: all of them are then sent again, or none.
 */
export async function deliver(
  route: NotificationRoute,
  notifications: readonly Notification[],
  more = 0,
): Promise<void> {
  const secret = route.tokenFile === undefined ? undefined : await secretIn(route, route.tokenFile);
  const url = await addressOf(route);
  for (const body of bodiesOf(route.format, notifications, more, secret)) await send(route, body, { url, secret });
}

/** Redirects are not followed: a key is for one address. */
async function send(
  { name, format, timeout }: NotificationRoute,
  { contentType, body }: NotificationBody,
  { url, secret }: { readonly url: string; readonly secret: string | undefined },
): Promise<void> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': contentType,
        ...(secret !== undefined && format !== 'pagerduty' && { authorization: `Bearer ${secret}` }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeout),
    });
  } catch (error) {
    // The message of a failed request may name the address.
    throw new KcoverError('notify.unreachable', `route ${name} did not answer: ${codeOf(error)}`);
  }
  const answer = await beginOf(response, secret);
  if (response.ok) return;
  const header = (key: string) => response.headers.get(key);
  const asked = retryAfterMs({ value: header('retry-after'), date: header('date') }, longestRetryAfterMs);
  const because = `route ${name} answered ${response.status}${answer === '' ? '' : `: ${answer}`}`;
  if (response.status >= 500 || forNow.has(response.status))
    throw new KcoverError('notify.unreachable', because, asked === undefined ? {} : { retryAfterMs: asked });
  throw new KcoverError('notify.refused', because);
}

async function addressOf(route: NotificationRoute): Promise<string> {
  const { format, url, urlFile } = route;
  const base = urlFile === undefined ? (url ?? pagerDutyUrl) : await secretIn(route, urlFile);
  if (!URL.canParse(base))
    throw new KcoverError('notify.refused', `route ${route.name}: ${urlFile ?? ''} holds no address`);
  return format === 'alertmanager' ? new URL('api/v2/alerts', base.endsWith('/') ? base : `${base}/`).href : base;
}

/** A secret may be mounted later, or be rotated. */
async function secretIn({ name }: NotificationRoute, file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch {
    throw new KcoverError('notify.unreachable', `route ${name}: ${file} cannot be read`);
  }
}

/** `ECONNREFUSED`, `TimeoutError`. */
function codeOf(error: unknown): string {
  const { cause, code, name } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  if (typeof cause === 'object' && cause !== null) return codeOf(cause);
  return [code, name].find((one): one is string => typeof one === 'string') ?? 'unknown failure';
}

/** The rest of the answer is not read, however long it is. */
async function beginOf(response: Response, secret: string | undefined): Promise<string> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of response.body ?? []) {
      parts.push(part);
      if (Buffer.concat(parts).length >= mostBytes) break;
    }
  } catch {
    // An answer that breaks off has a status all the same.
  }
  const text = Buffer.concat(parts).subarray(0, mostBytes).toString('utf8');
  return oneLine(secret === undefined ? text : text.replaceAll(secret, '***'), 200);
}

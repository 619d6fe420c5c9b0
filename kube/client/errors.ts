/** Converts errors of the Kubernetes client to errors of the catalogue. */

import { ApiException } from '@kubernetes/client-node';
import { type ErrorCode, KcoverError } from '../../contract/errors.ts';
import { retryAfterMs } from '../../contract/retry-after.ts';

const codeOf = (error: unknown): number | undefined => (error instanceof ApiException ? error.code : undefined);

const isOf = (error: unknown, code: ErrorCode): boolean => error instanceof KcoverError && error.code === code;

/** Status of the client's errors and of ours. */
export const isNotFound = (error: unknown): boolean =>
  (error instanceof ApiException && error.code === 404 && saysNotFound(error.body)) || isOf(error, 'not-found');
export const isInvalid = (error: unknown): boolean => codeOf(error) === 422 || isOf(error, 'kube.invalid');
export const isConflict = (error: unknown): boolean => codeOf(error) === 409 || isOf(error, 'kube.conflict');

/** RBAC or an admission policy refused the request. */
export const isForbidden = (error: unknown): error is KcoverError =>
  error instanceof KcoverError && error.code === 'kube.forbidden';

/** Only the server's message: that of an ApiException repeats all headers. */
export function statusMessage(body: unknown): string {
  const status = typeof body === 'string' ? parsed(body) : body;
  if (typeof status === 'object' && status !== null && 'message' in status && typeof status.message === 'string')
    return status.message.slice(0, 300);
  return typeof status === 'string' ? status.trim().slice(0, 100) : '';
}

/** Whether the API server itself says that the object does not exist: irreversible steps depend on it. */
function saysNotFound(body: unknown): boolean {
  const status = typeof body === 'string' ? parsed(body) : body;
  return typeof status === 'object' && status !== null && 'reason' in status && status.reason === 'NotFound';
}

/** The path of a kind that is not installed gives a plain 404. Kinds that every cluster has cannot be missing. */
export const mayBeAbsent = (path: string): boolean => path.startsWith('/apis/') && !path.startsWith('/apis/batch/');

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Longest wait that is accepted from `Retry-After`, ms. */
const longestRetryAfterMs = 60_000;

/** The error of the catalogue for an HTTP status. */
export function answerError(status: number, body: unknown, retryAfter: string | undefined, doing: string): KcoverError {
  const said = statusMessage(body);
  const because = `${doing}: ${status}${said ? ` ${said}` : ''}`;
  const asked = retryAfterMs({ value: retryAfter }, longestRetryAfterMs);
  const wait = asked === undefined ? {} : { retryAfterMs: asked };
  if (status === 429) return new KcoverError('kube.throttled', because, wait);
  if (status === 409) return new KcoverError('kube.conflict', because);
  // 401 is transient too: tokens are rotated, and an API server that starts cannot authenticate anyone yet.
  if (status === 403) return new KcoverError('kube.forbidden', because);
  if (status === 404 && saysNotFound(body)) return new KcoverError('not-found', because);
  // Any other 404 comes from a proxy before the API server, and says nothing about the object.
  if (status >= 500 || status === 404 || status === 401 || status === 408 || status === 410)
    return new KcoverError('kube.unreachable', because, wait);
  return new KcoverError('kube.invalid', because);
}

/** Any error of a call to Kubernetes as one of the catalogue; catalogue errors and defects stay as they are. */
export function kubeError(error: unknown, doing: string): KcoverError {
  if (error instanceof KcoverError) return error;
  if (error instanceof ApiException) {
    const headers: Record<string, string> = error.headers ?? {};
    return answerError(error.code, error.body, headers['retry-after'], doing);
  }
  return new KcoverError('kube.unreachable', `${doing}: ${networkReason(error)}`);
}

function networkReason(error: unknown): string {
  if (isAbort(error)) return 'no answer in time';
  if (!(error instanceof Error)) return 'unknown failure';
  const { cause } = error;
  if (cause instanceof Error)
    return `${error.message} (${'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message})`.slice(
      0,
      300,
    );
  return error.message.slice(0, 300);
}

const isAbort = (error: unknown): boolean =>
  typeof error === 'object' &&
  error !== null &&
  'name' in error &&
  (error.name === 'TimeoutError' || error.name === 'AbortError');

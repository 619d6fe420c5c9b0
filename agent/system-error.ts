/**
 * The code of an error of the operating system (`ENOENT`, `EAGAIN`); undefined for other errors.
 * Checks the property, not the class: an error may come from another realm, where `instanceof Error` is false.
 */
export function systemErrorCode(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}

/** The message of the innermost cause: `fetch failed` alone is not useful. */
export function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  if ('cause' in error && typeof error.cause === 'object' && error.cause !== null) return reasonOf(error.cause);
  if ('message' in error && typeof error.message === 'string' && error.message !== '') return error.message;
  return systemErrorCode(error) ?? 'unknown error';
}

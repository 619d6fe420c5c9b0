/**
 * The code of an error of the operating system (`ENOENT`, `EAGAIN`); undefined for other errors.
 * Looks at the property, not at the class: an error may come from another realm, where `instanceof Error` is false.
 */
export function systemErrorCode(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** One sentence for people, of the innermost cause: `fetch failed` alone helps nobody. */
export function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  if ('cause' in error && typeof error.cause === 'object' && error.cause !== null) return reasonOf(error.cause);
  if ('message' in error && typeof error.message === 'string' && error.message !== '') return error.message;
  return systemErrorCode(error) ?? 'unknown error';
}

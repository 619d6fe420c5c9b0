/** Wall-clock time in ms with a fraction: comparable with the times that servers on this machine write. */
export const now = (): number => performance.timeOrigin + performance.now();

/** The promise, or an error that names what did not happen in time. */
export function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${what} did not happen within ${ms / 1000} s`)), ms);
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
}

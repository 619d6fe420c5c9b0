/** Size of one signal: bounded in bytes, because non-Latin text has several bytes for each character. */

/** Far below the 2 MiB that Temporal takes, and below the 512 KiB from which it warns. */
export const signalBytes = 256 * 1024;

/** Bytes of a value as a payload. */
export const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value) ?? '').length;

/** How many items, from the front, fit into one signal: at least one. */
export function howManyFit(items: readonly unknown[], most: number, bytes = signalBytes): number {
  let size = 0;
  for (const [index, item] of items.slice(0, most).entries()) {
    size += bytesOf(item);
    if (size > bytes && index > 0) return index;
  }
  return Math.min(items.length, most);
}

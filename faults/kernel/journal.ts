/** Entries of the systemd journal as JSON, which shippers send as log lines. Source: systemd.journal-fields(7). */

/** Longer lines are no journal entry of a driver. */
const most = 32 * 1024;

/**
 * The line of the kernel in a journal entry, with its time as dmesg prints it; any other text as it is. An entry that is not of the
 * kernel is the empty text: every program may write what it likes into the journal.
 */
export function kernelTextOf(line: string): string {
  if (!line.startsWith('{') || line.length > most) return line;
  const entry = parsed(line);
  if (entry === undefined || typeof entry['MESSAGE'] !== 'string') return line;
  if ((entry['_TRANSPORT'] ?? 'kernel') !== 'kernel') return '';
  const us = Number(entry['_SOURCE_MONOTONIC_TIMESTAMP'] ?? Number.NaN);
  if (!Number.isSafeInteger(us) || us < 0) return entry['MESSAGE'];
  const seconds = Math.floor(us / 1_000_000);
  return `[${String(seconds).padStart(5)}.${String(us % 1_000_000).padStart(6, '0')}] ${entry['MESSAGE']}`;
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Durations as people write them (`500ms`, `30s`, `10m`, `1h30m`, `7d`), in milliseconds. */

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds, or undefined when the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const written = text.trim();
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(written)) return undefined;
  const parts = written
    .matchAll(/([\d.]+)(ms|s|m|h|d)/gy)
    .map(([, count, unit]) => Number(count) * units[unit as keyof typeof units]);
  return parts.reduce((sum, part) => sum + part, 0);
}

/** The longest unit that fits, at most two of them: `1h 5m`, `4.2s`, `340ms`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))}s`;
  const parts: string[] = [];
  let left = Math.round(ms / 1000);
  for (const [unit, seconds] of [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
    ['s', 1],
  ] as const) {
    const count = Math.floor(left / seconds);
    if (count > 0) parts.push(`${count}${unit}`);
    left -= count * seconds;
  }
  return parts.slice(0, 2).join(' ');
}

/** `2026-11-21T07:14:04.123Z`. */
export const iso = (ms: number): string => new Date(ms).toISOString();

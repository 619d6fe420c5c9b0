/** Times of objects: text in plain JSON, Date from the typed client. One form, so that they can be compared. */

/** RFC 3339 in UTC, without milliseconds where there are none. */
export function timeOf(value: Date | string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().replace('.000Z', 'Z');
}

/** The same, for a field that every stored object has. */
export const timeOrEpoch = (value: Date | string | undefined): string => timeOf(value) ?? '1970-01-01T00:00:00Z';

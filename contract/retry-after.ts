/** The header `Retry-After` of HTTP. Source: RFC 9110, 10.2.3. */

const seconds = /^\d{1,9}$/;
/** The only form of a date that senders may generate. Source: RFC 9110, 5.6.7. */
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

const timeOf = (date: string | null | undefined): number =>
  httpDate.test(date ?? '') ? Date.parse(date ?? '') : Number.NaN;

export interface RetryAfter {
  readonly value: string | null | undefined;
  /** The header `Date` of the same answer: a date counts from there, so that our own clock does not matter. */
  readonly date?: string | null | undefined;
}

/** How long the server asks to wait, but no longer than `most`, ms. Undefined where it does not say it. */
export function retryAfterMs({ value, date }: RetryAfter, most: number): number | undefined {
  if (seconds.test(value ?? '')) return Math.min(most, Number(value) * 1000);
  const wait = timeOf(value) - timeOf(date);
  return Number.isNaN(wait) ? undefined : Math.min(most, Math.max(0, wait));
}

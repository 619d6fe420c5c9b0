/** Times for tables. They are in UTC, as in logs and incident ids. */

import { formatDuration } from '../../contract/settings/duration.ts';

/** `07:14:04`; with the date when it is not today. */
export function clockTime(at: string | number, now: number): string {
  const iso = new Date(at).toISOString();
  const today = new Date(now).toISOString().slice(0, 10);
  return iso.startsWith(today) ? iso.slice(11, 19) : `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** `12s ago` */
export function ago(at: string | number, now: number): string {
  const past = whole(now - ms(at));
  return past === 0 ? 'just now' : `${formatDuration(past)} ago`;
}

/** `4m 51s`; until now when it has not ended. */
export const lasted = (from: string, to: string | null, now: number): string =>
  formatDuration(whole(ms(to ?? now) - ms(from)));

/** `until 07:14:04 (4m 51s left)`; empty without a deadline. */
export function deadline(until: string | undefined, now: number): string {
  if (until === undefined) return '';
  const left = ms(until) - now;
  return `until ${clockTime(until, now)} (${left > 0 ? `${formatDuration(whole(left))} left` : 'now'})`;
}

const ms = (at: string | number): number => new Date(at).getTime();
/** Rounds to whole seconds; never negative. */
const whole = (duration: number): number => Math.max(0, Math.round(duration / 1000)) * 1000;

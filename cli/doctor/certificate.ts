/** Checks until when a certificate is valid. */

import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { failed, type Finding, ok, warn } from './finding.ts';

const dayMs = 24 * 3600_000;
const soonDays = 30;

/** Of several certificates in one file the one that is valid for the longest counts, because a new authority is added beside the old one. */
export async function certificateFinding(check: string, file: string, now: number): Promise<Finding> {
  let until: number;
  try {
    until = lastDay(await readFile(file, 'utf8'));
  } catch {
    return failed(
      check,
      `${file} cannot be read, or holds no certificate`,
      'look at the Secret or ConfigMap that is mounted there',
    );
  }
  const day = new Date(until).toISOString().slice(0, 10);
  const renew = 'renew it before that day (docs/install.md)';
  if (until <= now) return failed(check, `${file} expired on ${day}`, renew);
  const left = Math.floor((until - now) / dayMs);
  return left < soonDays
    ? warn(check, `${file} expires on ${day}, in ${left} days`, renew)
    : ok(check, `${file} is valid until ${day}`);
}

function lastDay(text: string): number {
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0) throw new Error('it holds no certificate');
  return Math.max(...certificates.map((pem) => new X509Certificate(pem).validToDate.getTime()));
}

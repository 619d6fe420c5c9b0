import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import { generate } from 'selfsigned';
import { openCertificate } from '../../../controller/intake/certificate.ts';
import { certificateMetric } from '../../../controller/metrics.ts';

const dayMs = 24 * 3600_000;
const directory = mkdtempSync(join(tmpdir(), 'kcover-certificate-'));
const ending = new AbortController();
afterAll(() => {
  ending.abort();
  rmSync(directory, { recursive: true, force: true });
});

/** A certificate that is valid for this many days from now. */
async function open(days: number) {
  const notBeforeDate = new Date(Date.now() - 400 * dayMs);
  const made = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    notBeforeDate,
    notAfterDate: new Date(Date.now() + days * dayMs),
  });
  const certFile = join(mkdtempSync(join(directory, 'one-')), 'tls.crt');
  writeFileSync(certFile, made.cert);
  const lines: { msg: string; days: number }[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const registry = new Registry();
  certificateMetric(registry, openCertificate({ certFile, keyFile: certFile }, ending.signal, log).expires);
  const expiry = /^kcover_intake_certificate_expiry_timestamp_seconds (\d+)/m.exec(await registry.metrics())?.[1];
  return { lines, daysLeft: (Number(expiry) * 1000 - Date.now()) / dayMs };
}

describe('the certificate of the intake', () => {
  it.each<[string, number, readonly string[]]>([
    ['is not mentioned with 31 days left', 31, []],
    ['is warned of with 29 days left', 29, ['the certificate of the intake expires soon']],
    ['is said to have expired when it has', -1, ['the certificate of the intake has expired: agents refuse it']],
  ])('%s', async (_sentence, days, expected) => {
    const { lines, daysLeft } = await open(days);
    expect(lines.map(({ msg }) => msg)).toEqual(expected);
    expect(Math.abs(daysLeft - days)).toBeLessThan(0.01);
  });
});

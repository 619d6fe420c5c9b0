import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { generate } from 'selfsigned';
import { certificateFinding } from '../../cli/doctor/certificate.ts';
import { examineAccess } from '../../cli/doctor/temporal-access.ts';
import { temporalTarget } from '../../cli/clients/temporal.ts';

const directory = mkdtempSync(join(tmpdir(), 'kcover-doctor-'));
const pem = (name: string, text = name): string => {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
};

describe('access to Temporal', () => {
  const address = 'temporal.example.com:7233';
  const client = { TEMPORAL_TLS_CLIENT_CERT_PATH: pem('tls.crt'), TEMPORAL_TLS_CLIENT_KEY_PATH: pem('tls.key') };

  it.each<readonly [string, Readonly<Record<string, string>>, string, string]>([
    ['on this machine', { TEMPORAL_ADDRESS: '127.0.0.1:7233' }, 'ok', 'this machine'],
    ['in plain text', { TEMPORAL_ADDRESS: address }, 'warn', 'plain text'],
    [
      'over TLS, without authentication',
      { TEMPORAL_ADDRESS: address, TEMPORAL_TLS: 'true' },
      'warn',
      'does not authenticate clients',
    ],
    ['with an API key', { TEMPORAL_ADDRESS: address, TEMPORAL_API_KEY: 'k' }, 'ok', 'an API key'],
    [
      'with a client certificate',
      { TEMPORAL_ADDRESS: address, TEMPORAL_TLS: 'true', ...client },
      'ok',
      'a client certificate',
    ],
    [
      'at a name that only begins like this machine',
      { TEMPORAL_ADDRESS: 'localhost.example.com:7233' },
      'warn',
      'plain text',
    ],
  ])('%s', (_, variables, result, because) => {
    const [finding] = examineAccess(temporalTarget({ TEMPORAL_NAMESPACE: 'kcover', ...variables }));
    expect(finding).toMatchObject({ check: 'temporal access', result, because: expect.stringContaining(because) });
  });

  it('gets a warning for the namespace that every tool uses by default', () => {
    const checks = (namespace: string) =>
      examineAccess(temporalTarget({ TEMPORAL_NAMESPACE: namespace })).map(({ check }) => check);
    expect(checks('default')).toContain('temporal namespace');
    expect(checks('kcover')).not.toContain('temporal namespace');
  });
});

describe('a certificate', () => {
  const day = 24 * 3600_000;
  const now = Date.parse('2027-01-01T00:00:00Z');
  const certificate = async (days: number): Promise<string> => {
    const options = {
      algorithm: 'sha256',
      notBeforeDate: new Date(now - 400 * day),
      notAfterDate: new Date(now + days * day),
    } as const;
    return (await generate([{ name: 'commonName', value: 'kcover-intake' }], options)).cert;
  };

  it.each([
    ['is valid for long', 60, 'ok', 'is valid until 2027-03-02'],
    ['expires soon', 20, 'warn', 'expires on 2027-01-21, in 20 days'],
    ['has expired', -1, 'failed', 'expired on 2026-12-31'],
  ])('%s', async (name, days, result, because) => {
    const file = pem(name, await certificate(days));
    expect(await certificateFinding('c', file, now)).toMatchObject({
      result,
      because: expect.stringContaining(because),
    });
  });

  it('is valid as long as its successor in the same file', async () => {
    const file = pem('both', (await certificate(5)) + (await certificate(300)));
    expect(await certificateFinding('c', file, now)).toMatchObject({ result: 'ok' });
  });

  it('that is absent, or unreadable, is a failure', async () => {
    for (const file of [join(directory, 'none'), pem('text', 'x')])
      expect(await certificateFinding('c', file, now)).toMatchObject({
        result: 'failed',
        because: `${file} cannot be read, or holds no certificate`,
      });
  });
});

/** The intake's certificate, read again when its files change, so that it can be rotated without a restart. */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { KcoverError } from '../../contract/errors.ts';

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface ServingCertificate {
  /** As last read. */
  read(): KeyPair;
  onChange(use: (pair: KeyPair) => void): void;
  /** Expiry of the one last read, ms since the epoch. */
  expires(): number;
}

const lookAgainMs = 30_000;
const dayMs = 24 * 3600_000;
/** In this time before its expiry, the log warns once a day. */
const warnMs = 30 * dayMs;

/** Throws `settings.invalid` when a file cannot be read. */
export function openCertificate(
  files: { readonly certFile: string; readonly keyFile: string },
  signal: AbortSignal,
  log: Logger,
): ServingCertificate {
  let pair = readPair(files);
  const users: ((pair: KeyPair) => void)[] = [];
  let warnedAt = -Infinity;
  const expires = () => validUntil(pair);
  const leftMs = () => expires() - Date.now();

  function warn(): void {
    if (leftMs() >= warnMs || performance.now() - warnedAt < dayMs) return;
    warnedAt = performance.now();
    const days = Math.floor(leftMs() / dayMs);
    log.warn(
      { file: files.certFile, days },
      leftMs() > 0
        ? 'the certificate of the intake expires soon'
        : 'the certificate of the intake has expired: agents refuse it',
    );
  }

  warn();
  const timer = setInterval(() => {
    warn();
    try {
      const now = readPair(files);
      if (now.cert === pair.cert && now.key === pair.key) return;
      // The two files change one after the other: a pair that does not match is refused, and read again later.
      for (const use of users) use(now);
      pair = now;
      warnedAt = -Infinity;
      log.info({ days: Math.floor(leftMs() / dayMs) }, 'certificate of the intake renewed');
    } catch (error) {
      log.warn({ err: error }, 'the certificate of the intake cannot be renewed yet');
    }
  }, lookAgainMs);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer));
  return { read: () => pair, onChange: (use) => void users.push(use), expires };
}

/** Expiry of the first certificate in the file, which is the intake's own; ms since the epoch. */
const validUntil = ({ cert }: KeyPair): number => Date.parse(new X509Certificate(cert).validTo);

function readPair({ certFile, keyFile }: { readonly certFile: string; readonly keyFile: string }): KeyPair {
  return { cert: readText(certFile), key: readText(keyFile) };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new KcoverError('file.unreadable', `${file}: ${error instanceof Error ? error.message : 'unreadable'}`, {
      cause: error,
    });
  }
}

/** The intake's certificate, read again when its files change: it is rotated without a restart. */

import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { KcoverError } from '../contract/errors.ts';

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface Certificate {
  /** As last read. */
  read(): KeyPair;
  onChange(use: (pair: KeyPair) => void): void;
}

const lookAgainMs = 30_000;

/** Throws `settings.invalid` when a file cannot be read. */
export function openCertificate(files: { readonly certFile: string; readonly keyFile: string }, signal: AbortSignal, log: Logger): Certificate {
  let pair = readPair(files);
  const users: ((pair: KeyPair) => void)[] = [];
  const timer = setInterval(() => {
    try {
      const now = readPair(files);
      if (now.cert === pair.cert && now.key === pair.key) return;
      // The two files change one after the other: a pair that does not fit is refused, and looked at again.
      for (const use of users) use(now);
      pair = now;
      log.info('certificate of the intake renewed');
    } catch (error) {
      log.warn({ err: error }, 'the certificate of the intake cannot be renewed yet');
    }
  }, lookAgainMs);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer));
  return { read: () => pair, onChange: (use) => void users.push(use) };
}

function readPair({ certFile, keyFile }: { readonly certFile: string; readonly keyFile: string }): KeyPair {
  return { cert: readText(certFile), key: readText(keyFile) };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new KcoverError('file.unreadable', `${file}: ${error instanceof Error ? error.message : 'unreadable'}`, { cause: error });
  }
}

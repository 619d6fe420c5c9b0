/** Input of commands that read one file, or standard input, in pieces. */

import { createReadStream } from 'node:fs';
import { KcoverError } from '../../contract/errors.ts';
import type { CliEnvironment } from './environment.ts';

/** `file`: empty or `-` reads stdin. `example`: a command that gives it something to read. */
export async function* piecesOf(file: string, environment: CliEnvironment, example: string): AsyncGenerator<string> {
  if (file === '' || file === '-') {
    if (file === '' && environment.stdinIsTerminal)
      throw new KcoverError('usage', 'there is no log to read', { remedy: example });
    yield* environment.stdinPieces();
    return;
  }
  try {
    yield* createReadStream(file, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown failure';
    throw new KcoverError('file.unreadable', `${file}: ${why}`, {
      what: 'the log cannot be read',
      remedy: 'name another file, or - for stdin',
    });
  }
}

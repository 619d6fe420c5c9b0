/** Reads command line and environment; no other file of the product does. */

import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';

/** What commands use of the process that they run in. */
export interface CliEnvironment {
  /** Command line after the name of the program. */
  readonly argv: readonly string[];
  /** Name under which the program was called: `kcover`, or `kubectl kcover`. */
  readonly programName: string;
  /** All environment variables, because the configuration of the Temporal client has many. */
  readonly variables: Readonly<Record<string, string>>;
  /** Name of the user, recorded with requests. */
  readonly user: string;
  readonly hostname: string;
  /** The process runs in a pod. */
  readonly inCluster: boolean;
  /** Its own pod, where the Deployment passes name and namespace. */
  readonly pod: { readonly name: string; readonly namespace: string } | undefined;
  readonly version: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Resolves when the text was written, so that a slow reader slows the writer down. */
  readonly writeOut: (text: string) => Promise<void>;
  readonly stdin: () => Promise<string>;
  /** Standard input in pieces, as it arrives. */
  readonly stdinPieces: () => AsyncIterable<string>;
  readonly stdinIsTerminal: boolean;
  /** Standard output, where it is a terminal that can be drawn on. */
  readonly terminal: Terminal | undefined;
  /** Aborted by Ctrl-C or SIGTERM, which from then on do not end the process themselves: under another Node it gets each twice. */
  readonly untilStopped: () => AbortSignal;
}

/** A terminal to draw on. */
export interface Terminal {
  write(text: string): unknown;
  size(): { readonly columns: number; readonly rows: number };
  /** Returns what ends it. */
  onResize(redraw: () => void): () => void;
}

interface Output {
  write(text: string): unknown;
}

export function readEnvironment(process: NodeJS.Process): CliEnvironment {
  const variables = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return {
    argv: process.argv.slice(2),
    programName: programNameOf(process.argv[1] ?? ''),
    variables,
    user: variables['USER'] || variables['LOGNAME'] || nameOfUser(),
    hostname: hostname(),
    inCluster: variables['KUBERNETES_SERVICE_HOST'] !== undefined,
    pod: podOf(variables),
    version: packageVersion(),
    stdout: process.stdout,
    stderr: process.stderr,
    writeOut: (text) => new Promise((resolve) => process.stdout.write(text, () => resolve())),
    stdin: () => text(process.stdin),
    stdinPieces: () => process.stdin.setEncoding('utf8'),
    stdinIsTerminal: Boolean(process.stdin.isTTY),
    terminal: process.stdout.isTTY && variables['TERM'] !== 'dumb' ? terminalOf(process.stdout) : undefined,
    untilStopped: () => {
      const stopping = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
      return stopping.signal;
    },
  };
}

const terminalOf = (stdout: NodeJS.WriteStream): Terminal => ({
  write: (text) => stdout.write(text),
  // Some terminals say that they have none.
  size: () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }),
  onResize: (redraw) => {
    stdout.on('resize', redraw);
    return () => void stdout.off('resize', redraw);
  },
});

function podOf({ POD_NAME: name, POD_NAMESPACE: namespace }: Readonly<Record<string, string>>): CliEnvironment['pod'] {
  return name && namespace ? { name, namespace } : undefined;
}

/** `path` is the program that was run: kubectl runs a plugin NAME as `kubectl-NAME`. */
const programNameOf = (path: string): string =>
  /^kubectl-kcover\b/.test(basename(path)) ? 'kubectl kcover' : 'kcover';

/** Name of the user, or its id: a container often runs as a user without a name. */
function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}

/** Version of the package. Its package.json is one level further up in the build than in the source. */
function packageVersion(): string {
  for (const place of ['../../package.json', '../../../package.json']) {
    try {
      const parsed: unknown = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8'));
      if (typeof parsed === 'object' && parsed !== null && 'version' in parsed) return String(parsed.version);
    } catch {
      // Tries the next place.
    }
  }
  return 'unknown';
}

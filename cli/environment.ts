/** The only reader of the command line and the environment. */

import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';

/** Everything that a command may know of the process it runs in. */
export interface CliEnvironment {
  /** What was typed after the name of the program. */
  readonly argv: readonly string[];
  /** How the program was called: `kcover`, or `kubectl kcover`. */
  readonly programName: string;
  /** All variables, for the Temporal configuration, which has many. */
  readonly variables: Readonly<Record<string, string>>;
  /** Who typed it, for the record. */
  readonly user: string;
  readonly hostname: string;
  /** Set in a pod. */
  readonly inCluster: boolean;
  /** Where the deployment says in which pod it runs. */
  readonly pod: { readonly name: string; readonly namespace: string } | undefined;
  readonly version: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Resolves when it was written: a reader that is slow holds the writer up. */
  readonly writeOut: (text: string) => Promise<void>;
  readonly stdin: () => Promise<string>;
  /** The same as it comes. */
  readonly stdinPieces: () => AsyncIterable<string>;
  readonly stdinIsTerminal: boolean;
}

interface Output {
  write(text: string): unknown;
}

export function readEnvironment(process: NodeJS.Process): CliEnvironment {
  const variables = Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined));
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
  };
}

function podOf({ POD_NAME: name, POD_NAMESPACE: namespace }: Readonly<Record<string, string>>): CliEnvironment['pod'] {
  return name && namespace ? { name, namespace } : undefined;
}

/** `path` is what was run: kubectl calls its plugins `kubectl-NAME`. */
const programNameOf = (path: string): string => (/^kubectl-kcover\b/.test(basename(path)) ? 'kubectl kcover' : 'kcover');

/** A container often runs as a user without a name. */
function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}

/** The package's own version: beside us in the source, one level up in what was built. */
function packageVersion(): string {
  for (const place of ['../package.json', '../../package.json']) {
    try {
      const parsed: unknown = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8'));
      if (typeof parsed === 'object' && parsed !== null && 'version' in parsed) return String(parsed.version);
    } catch {
      // Not here: the next place.
    }
  }
  return 'unknown';
}

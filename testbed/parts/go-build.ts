import type { OnProgress } from './cache.ts';
import { type Command, must, run } from './command.ts';
import { withProgress } from './progress.ts';

export interface GoBuild {
  /** What is built and how long it usually takes: the beginning of every progress line. */
  readonly title: string;
  /** Path of the Go compiler. */
  readonly go: string;
  /** Arguments of the command after its verb, packages last. */
  readonly args: readonly string[];
  readonly packages: readonly string[];
  /** `build` in the module's own directory; `install` for packages with a version. */
  readonly verb: 'build' | 'install';
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** The error message when it fails, and what to do about it. */
  readonly failure: string;
  readonly attempt: string;
}

/**
 * Builds Go programs, and says how many packages are compiled, of how many where Go can tell before it begins.
 * It can in a module's own directory; of `install package@version` only the number so far is known.
 */
export async function goBuild(build: GoBuild, onProgress: OnProgress): Promise<void> {
  const { title, go, verb, args, packages, env, cwd, failure, attempt } = build;
  await withProgress(title, onProgress, async (report) => {
    report('fetching modules');
    const all = verb === 'build' ? await packagesToCompile(build) : undefined;
    let compiled = 0;
    const count = (line: string): void => {
      // With -v, Go prints each package when it begins to compile it, and prefixes downloads with `go:`.
      if (line.startsWith('go:')) return;
      compiled += 1;
      report(
        all === undefined ? `${compiled} packages compiled` : `${Math.min(compiled, all)} of ${all} packages compiled`,
      );
    };
    await must({ file: go, args: [verb, '-v', ...args, ...packages], env, cwd, onErrorLine: count }, failure, attempt);
  });
}

/** Number of packages that are not in Go's cache yet; undefined when Go does not report it, which is not an error. */
async function packagesToCompile({ go, args, packages, env, cwd }: GoBuild): Promise<number | undefined> {
  const flags = args.filter((each, index) => each !== '-o' && args[index - 1] !== '-o');
  const list: Command = { file: go, args: ['list', '-deps', '-f', '{{.Stale}}', ...flags, ...packages], env, cwd };
  const { code, stdout } = await run(list);
  return code === 0 ? stdout.split('\n').filter((line) => line === 'true').length : undefined;
}

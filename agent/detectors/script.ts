/** A site's own checks: executables in a directory of the agent's container. */

import type { Finding } from '../../faults/finding.ts';
import { isScriptName, readScript } from '../../faults/tools/script.ts';
import { type Check, type CheckReading, watchByCheck } from '../checks/watch.ts';
import { type Command, createCommand } from '../command/command.ts';
import { listScripts } from '../command/script-files.ts';
import type { Detector, DetectorContext } from './detector.ts';

export const script: Detector = {
  watches: "a site's own checks",
  start: (context) => watchByCheck(context, checkOf(context)),
};

/** A script decides by itself how often something must be wrong. */
const needed = (): number => 1;
const outputBytes = 65_536;

interface Run {
  readonly findings: readonly Finding[];
  readonly problem?: string | undefined;
}

function checkOf({ settings: { scripts: settings } }: DetectorContext): Check {
  const commands = new Map<string, Command>();
  /** What each found when it last answered: one that hangs neither takes that back nor keeps others from doing so. */
  const last = new Map<string, readonly Finding[]>();

  /** Each has a process of its own, so that one that hangs does not keep others from running. */
  function commandOf(path: string): Command {
    const known = commands.get(path) ?? createCommand({ path, outputBytes, deadlineMs: settings.deadline });
    commands.set(path, known);
    return known;
  }

  async function run(directory: string, name: string): Promise<Run> {
    const answer = await commandOf(`${directory}/${name}`).run([]);
    const before = last.get(name) ?? [];
    if (answer.kind === 'unobservable') return { findings: before, problem: answer.because };
    const exitCode = answer.kind === 'bad' ? answer.exitCode : 0;
    const { faults, unobservable } = readScript({ name, exitCode, output: answer.output || answer.errors });
    const [unknown] = unobservable;
    if (unknown !== undefined) return { findings: before, problem: `${unknown.what}: ${unknown.because}` };
    last.set(name, faults);
    return { findings: faults };
  }

  async function look(): Promise<CheckReading | { off: string }> {
    const { directory } = settings;
    if (directory === '') return { off: 'scripts.directory of the settings is empty' };
    const { names, refused } = await listScripts(directory, isScriptName);
    const runs: Run[] = [];
    for (const name of names) runs.push(await run(directory, name));
    return {
      findings: runs.flatMap(({ findings }) => findings),
      read: names.length,
      because: `running ${names.length} checks`,
      isComplete: true,
      problem: [refused, ...runs.map(({ problem }) => problem)].find((problem) => problem !== undefined),
    };
  }

  return {
    name: 'script',
    what: "the site's own checks",
    everyMs: settings.every,
    needed,
    look,
    stop: () => commands.forEach((command) => command.stop()),
  };
}

/** Entry point of `kcover`: parses the command line, runs one command, and exits with its code. */

import { exitCodes } from '../contract/errors.ts';
import { printable } from '../contract/text.ts';
import type { CommandEntry, CommandOutput, OutputFormat, Typed } from './program/command.ts';
import { type CliEnvironment, readEnvironment } from './program/environment.ts';
import { endingOf } from './program/exit.ts';
import { print } from './program/output.ts';
import { buildProgram } from './program/program.ts';
import { withProgramName } from './program/program-name.ts';
import { openScreen } from './program/screen.ts';
import { changes, watch } from './program/watch.ts';
import { openSession } from './clients/session.ts';

async function main(environment: CliEnvironment): Promise<number> {
  let code: number = exitCodes.ok;
  const asCalled = (text: string): string => withProgramName(environment.programName, text);

  const perform = async (entry: CommandEntry, typed: Typed): Promise<void> => {
    const session = openSession(environment, typed.option('kubeconfig'));
    const format = (typed.option('output') ?? 'table') as OutputFormat;
    const run = () => entry.run(typed, { environment, session, now: Date.now() });
    try {
      if (typed.flag('watch')) return await showChanges(environment, run, format, asCalled);
      const result = await run();
      if (typeof result === 'string') {
        code = exitCodes[result];
        return;
      }
      code = exitCodes[result.exit ?? 'ok'];
      environment.stdout.write(format === 'table' ? asCalled(print(result, format)) : print(result, format));
    } finally {
      await session.close();
    }
  };

  try {
    const program = buildProgram(environment, perform);
    if (environment.argv.length === 0) {
      environment.stdout.write(asCalled(program.helpInformation()));
      return exitCodes.ok;
    }
    await program.parseAsync([...environment.argv], { from: 'user' });
    return code;
  } catch (error) {
    const ending = endingOf(error);
    if (ending.message !== '') environment.stderr.write(`${asCalled(printable(ending.message))}\n`);
    return ending.code;
  }
}

/** A command with `--watch`: it ends when it is stopped. */
async function showChanges(
  environment: CliEnvironment,
  run: () => ReturnType<CommandEntry['run']>,
  format: OutputFormat,
  asCalled: (text: string) => string,
): Promise<void> {
  const look = async (): Promise<CommandOutput> => {
    const found = await run();
    return typeof found === 'string' ? { data: found, text: '' } : found;
  };
  const stopped = environment.untilStopped();
  const { terminal, writeOut } = environment;
  if (format !== 'table' || !terminal) {
    const write = (text: string) => writeOut(format === 'table' ? asCalled(text) : text);
    return watch(look, changes(format, write), stopped);
  }
  const screen = openScreen(terminal, asCalled);
  try {
    await watch(look, screen.show, stopped);
  } finally {
    screen.close();
  }
}

// A reader that closes the pipe early (`kcover list | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? exitCodes.ok : exitCodes.failed),
);
process.exitCode = await main(readEnvironment(process));

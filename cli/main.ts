/** Entry point of `kcover`: parses the command line, runs one command, and exits with its code. */

import { exitCodes } from '../contract/errors.ts';
import { printable } from '../contract/text.ts';
import type { CommandEntry, OutputFormat, Typed } from './program/command.ts';
import { type CliEnvironment, readEnvironment } from './program/environment.ts';
import { endingOf } from './program/exit.ts';
import { print } from './program/output.ts';
import { buildProgram } from './program/program.ts';
import { withProgramName } from './program/program-name.ts';
import { openSession } from './clients/session.ts';

async function main(environment: CliEnvironment): Promise<number> {
  let code: number = exitCodes.ok;
  const asCalled = (text: string): string => withProgramName(environment.programName, text);

  const perform = async (entry: CommandEntry, typed: Typed): Promise<void> => {
    const session = openSession(environment, typed.option('kubeconfig'));
    try {
      const result = await entry.run(typed, { environment, session, now: Date.now() });
      if (typeof result === 'string') {
        code = exitCodes[result];
        return;
      }
      code = exitCodes[result.exit ?? 'ok'];
      const format = (typed.option('output') ?? 'table') as OutputFormat;
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

// A reader that closes the pipe early (`kcover list | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? exitCodes.ok : exitCodes.failed),
);
process.exitCode = await main(readEnvironment(process));

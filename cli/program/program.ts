/** Builds the command line from the entries of `commands/`. */

import { Argument as CommanderArgument, Command, Option as CommanderOption } from 'commander';
import { exitCodes, KcoverError } from '../../contract/errors.ts';
import type { CommandEntry, ExitName, Option, Typed } from './command.ts';
import { commands, groups } from '../commands/index.ts';
import type { CliEnvironment } from './environment.ts';
import { exitMeanings } from './exit.ts';
import { withProgramName } from './program-name.ts';

/** Runs one command. */
export type Perform = (entry: CommandEntry, typed: Typed) => Promise<void>;

const everyExit: readonly ExitName[] = [
  'ok',
  'failed',
  'usage',
  'unknown',
  'refused',
  'notFound',
  'unreachable',
  'timedOut',
  'otherwise',
  'bug',
];

export function buildProgram(
  { version, programName, stdout }: Pick<CliEnvironment, 'version' | 'programName' | 'stdout'>,
  perform: Perform,
): Command {
  const program = strict(new Command(programName))
    .configureOutput({ writeOut: (text) => void stdout.write(withProgramName(programName, text)) })
    .description('Keeps AI training jobs on Kubernetes running when GPU nodes break.')
    .version(version, '-V, --version', 'Print the version')
    .helpCommand('help [command]', 'Print the help of a command');
  const parents = new Map<string, Command>();
  for (const [name, entry] of Object.entries(commands)) {
    const words = name.split(' ');
    const parent = words.length === 1 ? program : groupOf(words[0] ?? '', program, parents);
    addCommand(parent, words.at(-1) ?? name, entry, perform);
  }
  return program;
}

function groupOf(name: string, program: Command, parents: Map<string, Command>): Command {
  const known = parents.get(name);
  if (known) return known;
  const group = strict(program.command(name))
    .description(groups[name as keyof typeof groups])
    .helpCommand(false);
  group.action(() => {
    const members = group.commands.map((command) => `kcover ${name} ${command.name()}`);
    throw new KcoverError('usage', `kcover ${name} needs a subcommand`, { remedy: `one of ${members.join(', ')}` });
  });
  parents.set(name, group);
  return group;
}

/** Makes commander throw in place of printing, so that all errors have the same form. */
const strict = (command: Command): Command =>
  command
    .exitOverride()
    .helpOption('-h, --help', 'Print this help')
    .configureOutput({ outputError: () => undefined, writeErr: () => undefined })
    .allowExcessArguments(false);

function addCommand(parent: Command, name: string, entry: CommandEntry, perform: Perform): void {
  const command = strict(parent.command(name)).description(entry.summary);
  for (const argument of entry.arguments) {
    const made = new CommanderArgument(argument.name, argument.describe);
    command.addArgument(argument.choices ? made.choices([...argument.choices]) : made);
  }
  for (const option of entry.options) command.addOption(optionOf(option));
  command.addHelpText('after', () => `\n${examplesAndExits(entry)}`);
  command.action(() => perform(entry, typedOf(entry, command)));
}

function optionOf({ flags, describe, byDefault, choices, required }: Option): CommanderOption {
  const option = new CommanderOption(flags, describe);
  if (byDefault !== undefined) option.default(byDefault);
  if (choices) option.choices([...choices]);
  return required ? option.makeOptionMandatory() : option;
}

const examplesAndExits = (entry: CommandEntry): string =>
  [
    'Examples:',
    ...entry.examples.map((example) => `  ${example}`),
    '',
    'Exit codes:',
    ...exitsOf(entry).map((exit) => `  ${String(exitCodes[exit]).padEnd(4)}${exitMeanings[exit]}`),
  ].join('\n');

/** All exit codes of a command, in ascending order. */
export const exitsOf = (entry: CommandEntry): readonly ExitName[] =>
  everyExit.filter((exit) => ['ok', 'failed', 'usage', 'bug'].includes(exit) || entry.exits.includes(exit));

function typedOf(entry: CommandEntry, command: Command): Typed {
  const names = entry.arguments.map((argument) => argument.name.replaceAll(/[<>[\].]/g, ''));
  const of = (name: string): unknown => command.processedArgs[names.indexOf(name)];
  const options: Readonly<Record<string, unknown>> = command.opts();
  const option = (name: string): string | undefined => textOf(options[camelCase(name)]);
  return {
    argument: (name) => textOf(of(name)) ?? '',
    arguments: (name) => {
      const value = of(name);
      return Array.isArray(value) ? value.map(String) : [];
    },
    option,
    value: (name) => option(name) ?? '',
    flag: (name) => options[camelCase(name)] === true,
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const camelCase = (name: string): string => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

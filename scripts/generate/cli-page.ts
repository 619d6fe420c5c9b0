import type { Command } from 'commander';
import { exitCodes } from '../../contract/errors.ts';
import type { CommandEntry } from '../../cli/program/command.ts';
import { commands } from '../../cli/commands/index.ts';
import { exitMeanings } from '../../cli/program/exit.ts';
import { buildProgram, exitsOf } from '../../cli/program/program.ts';
import { cell, generated, markdownTable } from './markdown.ts';

/** Every command with its arguments, options, examples and exit codes. */
export function cliPage(): string {
  const program = buildProgram({ version: '', programName: 'kcover', stdout: process.stdout }, () => Promise.resolve());
  const sections = Object.entries(commands).map(([name, entry]) => section(name, entry, commandNamed(program, name)));
  return (
    [
      generated('cli/commands/'),
      '# kcover on the command line',
      `${program.description()} Also installed as \`kubectl-kcover\`, so that \`kubectl kcover ...\` works.`,
      'Kubernetes is found as kubectl finds it. Temporal is found as its own tools find it: `TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS*`, or a profile of its configuration file.',
      'A job is named `kind/name` as for kubectl: `pytorchjob/llm`, `pytorchjobs.kubeflow.org/llm`, `job/preprocess`, in any case.',
      '## Exit codes',
      markdownTable(
        ['code', 'meaning'],
        Object.entries(exitMeanings).map(([name, meaning]) => [
          String(exitCodes[name as keyof typeof exitCodes]),
          meaning,
        ]),
      ),
      'Errors go to stderr and read: what, because, try.',
      '## Commands',
      ...sections,
      '',
    ]
      .join('\n\n')
      .trimEnd() + '\n'
  );
}

function commandNamed(program: Command, name: string): Command {
  let command = program;
  for (const word of name.split(' ')) {
    const next = command.commands.find((each) => each.name() === word);
    if (!next) throw new Error(`no command ${name}`);
    command = next;
  }
  return command;
}

function section(name: string, entry: CommandEntry, command: Command): string {
  const options = command.options.map((option) => [
    `\`${option.flags}\``,
    `${option.description}${option.argChoices ? `: ${option.argChoices.join(', ')}` : ''}`,
    option.mandatory ? 'required' : option.defaultValue === undefined ? '' : `\`${String(option.defaultValue)}\``,
  ]);
  return [
    `### kcover ${name}`,
    entry.summary,
    fenced([`kcover ${name} ${command.usage()}`]),
    ...(entry.arguments.length > 0
      ? [
          markdownTable(
            ['argument', 'meaning'],
            entry.arguments.map((each) => [
              `\`${each.name}\``,
              `${each.describe}${each.choices ? `: ${each.choices.join(', ')}` : ''}`,
            ]),
          ),
        ]
      : []),
    ...(options.length > 0 ? [markdownTable(['option', 'meaning', 'default'], options)] : []),
    fenced(entry.examples),
    `Exit codes: ${exitsOf(entry)
      .map((exit) => exitCodes[exit])
      .join(', ')}.`,
  ].join('\n\n');
}

const fenced = (lines: readonly string[]): string =>
  ['```sh', ...lines.map((line) => cell(line).replaceAll('\\|', '|')), '```'].join('\n');

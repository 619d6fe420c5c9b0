/** The words that can follow at each point of the command line, derived from the commands. */

import type { CommandEntry, Option } from '../program/command.ts';

/** A point of the command line: after `kcover`, after `kcover node`, after `kcover node list`. */
export interface CompletionPlace {
  /** `node list`; empty at the beginning. */
  readonly words: string;
  /** Words that can follow: commands, or the choices of an argument. */
  readonly next: readonly CompletionWord[];
  readonly options: readonly CompletionWord[];
}

export interface CompletionWord {
  readonly word: string;
  readonly summary: string;
}

/** An option with a value, and its choices; without choices any value is possible. */
export interface Valued {
  readonly names: readonly string[];
  readonly choices: readonly string[];
}

export interface Completions {
  readonly places: readonly CompletionPlace[];
  readonly valued: readonly Valued[];
}

const help: CompletionWord = { word: '--help', summary: 'Print the help' };

export function completionsOf(
  commands: Readonly<Record<string, CommandEntry>>,
  groups: Readonly<Record<string, string>>,
): Completions {
  const entries = Object.entries(commands);
  const single = entries
    .filter(([name]) => !name.includes(' '))
    .map(([name, { summary }]) => ({ word: name, summary }));
  const groupWords = Object.entries(groups).map(([word, summary]) => ({ word, summary }));
  const root: CompletionPlace = {
    words: '',
    next: [...single, ...groupWords, { word: 'help', summary: 'Print the help of a command' }],
    options: [help],
  };
  const inGroups = groupWords.map(({ word }): CompletionPlace => {
    const members = entries.filter(([name]) => name.startsWith(`${word} `));
    return {
      words: word,
      next: members.map(([name, { summary }]) => ({ word: name.slice(word.length + 1), summary })),
      options: [help],
    };
  });
  const leaves = entries.map(([words, entry]): CompletionPlace => ({
    words,
    next: entry.arguments.flatMap(({ choices = [], describe }) => choices.map((word) => ({ word, summary: describe }))),
    options: [
      ...entry.options.flatMap((option) => namesOf(option).map((word) => ({ word, summary: option.describe }))),
      help,
    ],
  }));
  return { places: [root, ...inGroups, ...leaves], valued: valuedOf(entries.flatMap(([, { options }]) => options)) };
}

/** `-n, --namespace <name>` -> `-n`, `--namespace` */
const namesOf = ({ flags }: Option): string[] => flags.split(/[ ,]+/).filter((word) => word.startsWith('-'));

/** Options with a value, each once: an option has the same meaning in every command. */
function valuedOf(options: readonly Option[]): readonly Valued[] {
  const known = new Map<string, Valued>();
  for (const option of options.filter(({ flags }) => /[<[]/.test(flags))) {
    const names = namesOf(option);
    const choices = new Set([...(known.get(names.join())?.choices ?? []), ...(option.choices ?? [])]);
    known.set(names.join(), { names, choices: [...choices] });
  }
  return [...known.values()];
}

import type { CommandEntry } from '../program/command.ts';
import type { Completions } from '../completion/places.ts';
import { completionScripts, shells } from '../completion/scripts.ts';

/** `completions` has the completions of all commands, including this one. */
export const completion = (completions: () => Completions): CommandEntry => ({
  summary: 'Print a script that completes commands and options in a shell.',
  arguments: [{ name: '<shell>', describe: 'Shell that the script is for', choices: shells }],
  options: [],
  examples: ['source <(kcover completion bash)', 'kcover completion fish > ~/.config/fish/completions/kcover.fish'],
  exits: [],
  run: async (typed) => {
    const shell = shells.find((each) => each === typed.argument('shell'));
    if (shell === undefined) return 'usage';
    const data = completions();
    return { data, text: completionScripts[shell](data).trimEnd() };
  },
});

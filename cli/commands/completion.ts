import type { CommandEntry } from '../command.ts';
import { completionsOf } from '../completion/places.ts';
import { completionScripts, shells } from '../completion/scripts.ts';

export const completion: CommandEntry = {
  summary: 'Print a script that completes commands and options in a shell.',
  arguments: [{ name: '<shell>', describe: 'Shell that the script is for', choices: shells }],
  options: [],
  examples: ['source <(kcover completion bash)', 'kcover completion fish > ~/.config/fish/completions/kcover.fish'],
  exits: [],
  async run(typed) {
    const { commands, groups } = await import('./index.ts');
    const shell = shells.find((each) => each === typed.argument('shell'));
    if (shell === undefined) return 'usage';
    const completions = completionsOf(commands, groups);
    return { data: completions, text: completionScripts[shell](completions).trimEnd() };
  },
};

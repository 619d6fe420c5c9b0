/** Completion scripts, one for each shell. All are generated from the same tables, and need no program at run time. */

import type { Completions, CompletionPlace, CompletionWord } from './places.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const completionScripts: Readonly<Record<Shell, (completions: Completions) => string>> = { bash, zsh, fish };

const programs = 'kcover kubectl-kcover';
const wordsOf = (words: readonly CompletionWord[]): string => words.map(({ word }) => word).join(' ');
const known = (places: readonly CompletionPlace[], separator: string): string =>
  places
    .filter(({ words }) => words !== '')
    .map(({ words }) => `'${words}'`)
    .join(separator);

/** The part that is the same in both shells; `answer` and `freely` write the part that differs. */
function cases(
  { places, valued }: Completions,
  answer: (words: string) => string,
  freely: string,
): { readonly values: string; readonly words: string } {
  return {
    values: valued
      .map(
        ({ names, choices }) =>
          `    ${names.join('|')}) ${choices.length > 0 ? answer(choices.join(' ')) : freely}; return ;;`,
      )
      .join('\n'),
    words: places
      .map(({ words, next, options }) => `    '${words}') next='${wordsOf(next)}' options='${wordsOf(options)}' ;;`)
      .join('\n'),
  };
}

function bash(completions: Completions): string {
  const { values, words } = cases(completions, (choices) => `COMPREPLY=($(compgen -W '${choices}' -- "$cur"))`, ':');
  // Without a reply bash completes file names.
  return `# Completion of kcover for bash: source <(kcover completion bash)
_kcover() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} place='' next='' options='' word
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${place:+$place }$word" in ${known(completions.places, '|')}) place="\${place:+$place }$word" ;; esac
  done
  case "$prev" in
${values}
  esac
  case "$place" in
${words}
  esac
  [[ $cur == -* ]] && next=$options
  COMPREPLY=($(compgen -W "$next" -- "$cur"))
}
complete -o default -F _kcover ${programs}
`;
}

function zsh(completions: Completions): string {
  const { values, words } = cases(completions, (choices) => `compadd -- ${choices}`, '_files');
  return `#compdef ${programs}
# Completion of kcover for zsh: source <(kcover completion zsh)
_kcover() {
  local place='' next='' options='' word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${place:+$place }$word" in ${known(completions.places, '|')}) place="\${place:+$place }$word" ;; esac
  done
  case "\${words[CURRENT-1]}" in
${values}
  esac
  case "$place" in
${words}
  esac
  [[ \${words[CURRENT]} == -* ]] && next=$options
  compadd -- \${=next} || _files
}
compdef _kcover ${programs}
`;
}

function fish({ places, valued }: Completions): string {
  const wantsValue = new Map(valued.flatMap(({ names, choices }) => names.map((name) => [name, choices] as const)));
  const at = (words: string): string => `complete -c kcover -n "__kcover_at '${words}'"`;
  const offer = ({ words, next, options }: CompletionPlace): string[] => [
    ...next.map(({ word, summary }) => `${at(words)} -f -a ${word} -d ${quoted(summary)}`),
    ...options.map(({ word, summary }) => {
      const choices = wantsValue.get(word);
      const value = choices === undefined ? ' -f' : choices.length > 0 ? ` -x -a '${choices.join(' ')}'` : ' -r';
      return `${at(words)} ${word.startsWith('--') ? '-l' : '-s'} ${word.replace(/^-+/, '')}${value} -d ${quoted(summary)}`;
    }),
  ];
  return `# Completion of kcover for fish: kcover completion fish | source
function __kcover_at
  set -l place ''
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim "$place $word")
    contains -- $longer ${known(places, ' ')}; and set place $longer
  end
  test "$place" = "$argv[1]"
end
${places.flatMap(offer).join('\n')}
complete -c kubectl-kcover -w kcover
`;
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { commands } from '../../cli/commands/index.ts';
import { completionsOf } from '../../cli/completion/places.ts';
import { kcover } from './kcover.ts';

const program = fileURLToPath(new URL('../../bin/kcover.js', import.meta.url));

/** Returns what the script completes in bash when a person presses Tab after `line`. */
async function inBash(...lines: readonly string[]): Promise<readonly string[]> {
  const script = [
    `source <("${process.execPath}" "${program}" completion bash)`,
    'complete -p kcover kubectl-kcover',
    'press() { COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _kcover; echo "${COMPREPLY[*]}"; }',
    ...lines.map((line) => `press ${line}`),
  ].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script]);
  return stdout.trimEnd().split('\n');
}

describe('completion', () => {
  it('works in bash for both program names, and completes commands, groups, options and choices', async () => {
    const [own, plugin, ...offered] = await inBash(
      "kcover ''",
      'kcover no',
      "kcover node ''",
      'kcover node quarantine --re',
      "kcover list -o ''",
      "kcover config check ''",
      "kcover wait job/x --for ''",
      'kcover status job/x --w',
      "kcover status job/x -n list ''",
    );
    expect([own, plugin]).toEqual([
      'complete -o default -F _kcover kcover',
      'complete -o default -F _kcover kubectl-kcover',
    ]);
    for (const name of Object.keys(commands)) expect(offered[0]?.split(' ')).toContain(name.split(' ')[0]);
    expect(offered.slice(1)).toEqual([
      'node notify',
      'list history quarantine release maintain',
      '--reason',
      'table json yaml',
      'worker controller agent',
      'protected recovered idle',
      '--watch',
    ]);
  });

  it('covers the same commands in zsh and fish', async () => {
    const [zsh, fish] = await Promise.all([kcover(['completion', 'zsh']), kcover(['completion', 'fish'])]);
    expect(zsh.stdout).toContain('compdef _kcover kcover kubectl-kcover');
    expect(zsh.stdout).toMatch(/'node quarantine'\) next='' options='--reason /);
    expect(fish.stdout).toContain(
      `complete -c kcover -n "__kcover_at 'node'" -f -a quarantine -d '${commands['node quarantine'].summary}'`,
    );
    expect(fish.stdout).toMatch(/__kcover_at 'list'" -l output -x -a 'table json yaml'/);
  });

  it('knows every command and every option', () => {
    const { places } = completionsOf(commands, {});
    for (const [name, { options }] of Object.entries(commands)) {
      const offered = places.find(({ words }) => words === name)?.options.map(({ word }) => word) ?? [];
      expect(offered).toHaveLength(options.flatMap(({ flags }) => flags.match(/(?<![\w-])--?\w/g) ?? []).length + 1);
    }
  });
});

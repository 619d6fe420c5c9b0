import { describe, expect, it } from '@jest/globals';
import { commands } from '../../cli/commands/index.ts';
import { kcover } from './kcover.ts';

const endings: readonly { readonly sentence: string; readonly args: readonly string[]; readonly code: number; readonly says: string }[] = [
  { sentence: 'a command that does not exist is wrong usage', args: ['recovr'], code: 2, says: "because: unknown command 'recovr' (Did you mean recover?)" },
  { sentence: 'an option that does not exist is wrong usage', args: ['list', '--colour'], code: 2, says: "because: unknown option '--colour'" },
  { sentence: 'a missing argument is wrong usage', args: ['status'], code: 2, says: "because: missing required argument 'job'" },
  { sentence: 'one argument too many is wrong usage', args: ['list', 'jobs'], code: 2, says: 'because: too many arguments' },
  { sentence: 'a missing reason is wrong usage', args: ['pause'], code: 2, says: "because: required option '--reason <text>' not specified" },
  { sentence: 'a format that is not known is wrong usage', args: ['list', '-o', 'xml'], code: 2, says: 'Allowed choices are table, json, yaml.' },
  { sentence: 'a group without its second word is wrong usage', args: ['node'], code: 2, says: 'try:     one of kcover node list' },
  { sentence: 'a job without a kind is wrong usage', args: ['status', 'llm'], code: 2, says: '"llm": a job is named kind/name' },
  { sentence: 'a kubeconfig that is not there is wrong usage', args: ['status', 'job/x'], code: 2, says: 'the kubeconfig cannot be read' },
  {
    sentence: 'a settings file that is not there starts no role',
    args: ['worker', '--config', '/nonexistent.yaml'],
    code: 2,
    says: 'because: /nonexistent.yaml: there is no such file',
  },
  { sentence: 'a Temporal that does not answer is unreachable', args: ['list'], code: 5, says: 'error[temporal.unreachable]' },
];

describe('the program', () => {
  it.each(endings)('$sentence', async ({ args, code, says }) => {
    const ran = await kcover(args);
    expect(ran.stderr).toContain(says);
    expect(ran.stdout).toBe('');
    expect(ran.code).toBe(code);
  });

  it('says every error as what, because, try', async () => {
    const { stderr } = await kcover(['status', 'llm']);
    expect(stderr).toMatch(/^error\[usage\]: .+\n {2}because: .+\n {2}try: {5}.+\n$/);
  });

  it('prints its help and nothing else when nothing is typed', async () => {
    const [bare, help] = await Promise.all([kcover([]), kcover(['--help'])]);
    expect(bare).toEqual(help);
    expect(bare).toMatchObject({ code: 0, stderr: '' });
  });

  it('shows two examples and the exit codes in the help of a command', async () => {
    const { stdout, stderr, code } = await kcover(['recover', '--help']);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    for (const example of commands.recover.examples) expect(stdout).toContain(`\n  ${example}\n`);
    expect(stdout).toMatch(/Exit codes:\n {2}0 +done\n/);
    expect(stdout).toMatch(/\n {2}3 +policy refuses it/);
  });
});

describe('every command', () => {
  it.each(Object.entries(commands))('%s has examples that begin with its own name', (name, { examples }) => {
    for (const example of examples) expect(example).toContain(`kcover ${name}`);
  });
});

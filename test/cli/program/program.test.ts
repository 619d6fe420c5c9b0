import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { commands } from '../../../cli/commands/index.ts';
import { kcover, nowhere, program as programFile } from '../kcover.ts';

const endings: readonly {
  readonly sentence: string;
  readonly args: readonly string[];
  readonly code: number;
  readonly says: string;
}[] = [
  {
    sentence: 'a command that does not exist is wrong usage',
    args: ['recovr'],
    code: 2,
    says: "because: unknown command 'recovr' (Did you mean recover?)",
  },
  {
    sentence: 'an option that does not exist is wrong usage',
    args: ['list', '--colour'],
    code: 2,
    says: "because: unknown option '--colour'",
  },
  {
    sentence: 'a missing argument is wrong usage',
    args: ['status'],
    code: 2,
    says: "because: missing required argument 'job'",
  },
  {
    sentence: 'one argument too many is wrong usage',
    args: ['list', 'jobs'],
    code: 2,
    says: 'because: too many arguments',
  },
  {
    sentence: 'a missing reason is wrong usage',
    args: ['pause'],
    code: 2,
    says: "because: required option '--reason <text>' not specified",
  },
  {
    sentence: 'a format that is not known is wrong usage',
    args: ['list', '-o', 'xml'],
    code: 2,
    says: 'Allowed choices are table, json, yaml.',
  },
  {
    sentence: 'a group without its second word is wrong usage',
    args: ['node'],
    code: 2,
    says: 'try:     one of kcover node list',
  },
  {
    sentence: 'a job without a kind is wrong usage',
    args: ['status', 'llm'],
    code: 2,
    says: '"llm": a job is named kind/name',
  },
  {
    sentence: 'a kubeconfig that is not there is wrong usage',
    args: ['status', 'job/x'],
    code: 2,
    says: 'the kubeconfig cannot be read',
  },
  {
    sentence: 'a settings file that is not there starts no role',
    args: ['worker', '--config', '/nonexistent.yaml'],
    code: 2,
    says: 'because: /nonexistent.yaml: there is no such file',
  },
  {
    sentence: 'a time that is no duration is wrong usage',
    args: ['incidents', '--since', 'monday'],
    code: 2,
    says: 'because: --since monday is not a duration',
  },
  {
    sentence: 'an invalid number is wrong usage',
    args: ['node', 'history', 'x', '--limit', '0'],
    code: 2,
    says: 'because: --limit 0 is not a whole number',
  },
  {
    sentence: 'a condition that is not known is wrong usage',
    args: ['wait', 'job/x', '--for', 'healthy'],
    code: 2,
    says: 'Allowed choices are protected, recovered, idle.',
  },
  {
    sentence: 'a wait without an end is wrong usage',
    args: ['wait', 'job/x', '--for', 'recovered', '--timeout', '0s'],
    code: 2,
    says: 'because: --timeout 0s is not a duration above zero',
  },
  {
    sentence: 'a plan without a job or facts is wrong usage',
    args: ['plan'],
    code: 2,
    says: 'because: there is neither a job nor a file of facts',
  },
  {
    sentence: 'a node without a fault is wrong usage',
    args: ['plan', '--facts', 'x.json', '--node', 'gpu-3'],
    code: 2,
    says: 'because: --node and --pod say where --fault would be',
  },
  {
    sentence: 'an approval without an id or a job kind is wrong usage',
    args: ['approve', 'llm', '--reason', 'x'],
    code: 2,
    says: '"llm": a job is named kind/name',
  },
  {
    sentence: 'settings without a role are wrong usage',
    args: ['doctor', '--config', 'x.yaml'],
    code: 2,
    says: 'try:     --role worker|controller|agent --config x.yaml',
  },
  {
    sentence: 'a Temporal that does not answer is unreachable',
    args: ['list'],
    code: 5,
    says: 'error[temporal.unreachable]',
  },
];

describe('the program', () => {
  it.each(endings)('$sentence', async ({ args, code, says }) => {
    const ran = await kcover(args);
    expect(ran.stderr).toContain(says);
    expect(ran.stdout).toBe('');
    expect(ran.code).toBe(code);
  });

  it('prints every error as what, because, try', async () => {
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

describe('kcover doctor without servers', () => {
  it('reports for every check what is wrong and what to try, and exits as unreachable', async () => {
    const { stdout, stderr, code } = await kcover(['doctor']);
    expect({ stderr, code }).toEqual({ stderr: '', code: 5 });
    expect(stdout).toMatch(/\nversions +ok +kcover [\d.]+, Node \d/);
    expect(stdout).toMatch(/\ntemporal +failed +connect to 127\.0\.0\.1:1/);
    expect(stdout).toContain('\n\nkubernetes\n  try: name another file with --kubeconfig or KUBECONFIG');
  });

  it('checks settings and files of an agent, and says which cannot be read', async () => {
    const { stdout, code } = await kcover(['doctor', '--role', 'agent', '--host-root', '/nonexistent', '-o', 'json']);
    const findings = JSON.parse(stdout) as { check: string; result: string; because: string }[];
    expect(findings.find(({ check }) => check === 'kernel log')).toMatchObject({
      result: 'failed',
      because: expect.stringContaining('/nonexistent/dev/kmsg'),
    });
    expect(findings.find(({ check }) => check === 'files of containers')).toMatchObject({
      result: 'failed',
      because: expect.stringContaining('/nonexistent/var/lib/kcover'),
    });
    expect(findings.map(({ check }) => check)).toEqual([
      'versions',
      'token',
      'authority',
      'kernel log',
      'files of containers',
      'spool',
      'intake',
    ]);
    expect(code).toBe(5);
  });
});

describe('a role', () => {
  it('names the address that is taken, and exits', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const directory = mkdtempSync(join(tmpdir(), 'kcover-role-'));
    try {
      const bound = other.address();
      const listen = `127.0.0.1:${typeof bound === 'object' && bound ? bound.port : 0}`;
      writeFileSync(join(directory, 'agent.yaml'), `health: { listen: '${listen}' }\n`);
      const { stderr, code } = await kcover(['agent', '--config', join(directory, 'agent.yaml')]);
      expect(stderr).toContain(
        `error[address.taken]: kcover cannot listen on this address\n  because: health.listen ${listen}: `,
      );
      expect(code).toBe(1);
    } finally {
      other.close();
      rmSync(directory, { recursive: true });
    }
  });
});

describe('a plugin of kubectl', () => {
  it('uses the name that it was called by', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'kcover-plugin-'));
    try {
      const plugin = join(directory, 'kubectl-kcover');
      symlinkSync(programFile, plugin);
      const [help, wrong] = await Promise.all([
        kcover(['recover', '--help'], '', nowhere, plugin),
        kcover(['node'], '', nowhere, plugin),
      ]);
      expect(help.stdout).toMatch(/^Usage: kubectl kcover recover /);
      for (const example of commands.recover.examples) expect(help.stdout).toContain(`\n  kubectl ${example}\n`);
      expect(wrong.stderr).toContain('one of kubectl kcover node list, kubectl kcover node history');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('every command', () => {
  it.each(Object.entries(commands))('%s has examples that begin with its own name', (name, { examples }) => {
    for (const example of examples) expect(example).toContain(`kcover ${name}`);
  });
});

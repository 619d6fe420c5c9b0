import { readFile } from 'node:fs/promises';
import { KcoverError } from '../../contract/errors.ts';
import { type Classified, classifyLine } from '../../faults/kernel/classify.ts';
import { readers } from '../classify/index.ts';
import { showFindings } from '../classify/show.ts';
import { type CommandEntry, type CommandOutput, sharedOptions, type Typed } from '../program/command.ts';
import type { CliEnvironment } from '../program/environment.ts';
import { table } from '../program/output.ts';
import { readSettings } from '../settings/file.ts';

export const classify: CommandEntry = {
  summary: 'Say what kernel log lines, or what other sources say, mean; reads stdin when no line is given.',
  arguments: [
    {
      name: '[lines...]',
      describe:
        'Lines as /dev/kmsg, dmesg, journalctl or the driver writes them; with an option that names a format, files',
    },
  ],
  options: [
    ...Object.entries(readers).map(([name, { describe, formats }]) => ({
      flags: `--${name} <${formats ? 'format' : 'file'}>`,
      describe,
      ...(formats && { choices: formats }),
    })),
    { flags: '--config <file>', describe: 'Settings file of the worker, for its responses to codes' },
    sharedOptions.output,
  ],
  examples: [
    'kcover classify "NVRM: Xid (PCI:0000:5d:00): 79, pid=1234, GPU has fallen off the bus."',
    'dmesg | kcover classify --output json',
  ],
  exits: [],
  async run(typed, { environment }) {
    const given = typed.arguments('lines');
    const read = Object.entries(readers).filter(([name]) => typed.option(name) !== undefined);
    if (read.length > 1) {
      const because = `${read.map(([name]) => `--${name}`).join(' and ')} exclude each other`;
      throw new KcoverError('usage', because, { remedy: 'classify one at a time' });
    }
    return read.length === 0 ? classifyLines(given, environment) : classifyFiles(typed, environment);
  },
};

/** Reads every file with the reader whose option was given. */
async function classifyFiles(typed: Typed, environment: CliEnvironment): Promise<CommandOutput> {
  const { settings } = await readSettings('worker', typed.option('config'));
  const faults = [];
  const unobservable = [];
  for (const [name, reader] of Object.entries(readers)) {
    const value = typed.option(name);
    if (value === undefined) continue;
    const files = reader.formats ? typed.arguments('lines') : [value, ...typed.arguments('lines')];
    for (const file of files.length === 0 ? ['-'] : files) {
      const found = reader.read(await textOf(file, environment), value);
      faults.push(...found.faults);
      unobservable.push(...found.unobservable);
    }
  }
  return showFindings({ faults, unobservable }, settings);
}

async function textOf(file: string, environment: CliEnvironment): Promise<string> {
  if (file === '-') return environment.stdin();
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const because = error instanceof Error ? error.message : String(error);
    throw new KcoverError('file.unreadable', `${file}: ${because}`, { remedy: 'name a file that can be read' });
  }
}

async function classifyLines(given: readonly string[], environment: CliEnvironment): Promise<CommandOutput> {
  if (given.length === 0 && environment.stdinIsTerminal)
    throw new KcoverError('usage', 'there is no line to classify', { remedy: 'dmesg | kcover classify' });
  const lines = given.length > 0 ? given : (await environment.stdin()).split('\n');
  const found = lines.flatMap((line) => classifyLine(line) ?? []);
  return {
    data: found.map(shown),
    text:
      found.length === 0
        ? 'kcover knows no fault in these lines'
        : table(['code', 'pci', 'severity', 'action', 'because'], found.map(row)),
  };
}

const shown = ({ code, kind, pci, pid, process, link, severity, action, standing, because, message }: Classified) => ({
  code,
  kind,
  pci,
  pid,
  process,
  link,
  severity,
  action,
  standing,
  because,
  message,
});

const row = ({ kind, code, pci, severity, action, because }: Classified): string[] => [
  kind === 'other' ? String(code) : `${kind}/${code}`,
  pci ?? '',
  severity,
  action,
  because,
];

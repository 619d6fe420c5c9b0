import { KcoverError } from '../../contract/errors.ts';
import { type Classified, classifyLine } from '../../faults/kernel/classify.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { table } from '../program/output.ts';

export const classify: CommandEntry = {
  summary: 'Say what kernel log lines mean; reads stdin when no line is given.',
  arguments: [{ name: '[lines...]', describe: 'Lines as /dev/kmsg, dmesg, journalctl or the driver writes them' }],
  options: [sharedOptions.output],
  examples: [
    'kcover classify "NVRM: Xid (PCI:0000:5d:00): 79, pid=1234, GPU has fallen off the bus."',
    'dmesg | kcover classify --output json',
  ],
  exits: [],
  async run(typed, { environment }) {
    const given = typed.arguments('lines');
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
  },
};

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

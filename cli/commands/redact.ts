import { redactionPatterns } from '../../faults/redaction/built-in.ts';
import { lineLength, LogRedactor, type RedactedLine } from '../../faults/redaction/log.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { piecesOf } from '../program/input.ts';
import { linesOf } from '../redact/lines.ts';
import { inWords, RedactionTally } from '../redact/tally.ts';
import { readSettings } from '../settings/file.ts';

export const redact: CommandEntry = {
  summary:
    'Print a log as the evidence store would keep it, with secrets hidden; a summary of what was hidden goes to stderr.',
  arguments: [{ name: '[file]', describe: 'A log; - or nothing reads stdin' }],
  options: [
    {
      flags: '--config <file>',
      describe: 'Settings file of the worker, for its own patterns (recovery.evidence.redact)',
    },
    {
      ...sharedOptions.output,
      describe: 'table: the log itself; json, yaml: only how much was hidden, by pattern and by line',
    },
  ],
  examples: [
    'kubectl logs llm-worker-3 | kcover redact > log.txt',
    'kcover redact train.log --config worker.yaml --output json',
  ],
  exits: [],
  async run(typed, { environment }) {
    const { settings } = await readSettings('worker', typed.option('config'));
    const prints = typed.value('output') === 'table';
    const tally = new RedactionTally();
    const take = async (lines: readonly RedactedLine[]): Promise<void> => {
      lines.forEach((line) => tally.add(line));
      if (prints && lines.length > 0) await environment.writeOut(lines.map(({ text }) => `${text}\n`).join(''));
    };
    await hideAll(
      linesOf(piecesOf(typed.argument('file'), environment, 'kubectl logs POD | kcover redact'), lineLength),
      settings.recovery.evidence.redact,
      take,
    );
    const data = tally.result();
    if (prints) environment.stderr.write(`${inWords(data)}\n`);
    return { data, text: '' };
  },
};

/** Number of lines that are written together. */
const atOnce = 500;

async function hideAll(
  lines: AsyncIterable<string>,
  own: readonly string[],
  take: (lines: readonly RedactedLine[]) => Promise<void>,
): Promise<void> {
  const log = new LogRedactor(redactionPatterns(own));
  let done: RedactedLine[] = [];
  for await (const line of lines) {
    done.push(...log.push(line));
    if (done.length < atOnce) continue;
    await take(done);
    done = [];
  }
  await take([...done, ...log.end()]);
}

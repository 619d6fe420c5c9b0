import { open } from 'node:fs/promises';
import { KcoverError } from '../../contract/errors.ts';
import { faultSentence } from '../../contract/faults/sentence.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { Verdict } from '../../policy/node/judge.ts';
import { nodeReplay } from '../../policy/node/replay.ts';
import { observationOf } from '../judge/observation.ts';
import { type CommandEntry, type CommandOutput, sharedOptions } from '../program/command.ts';
import { table } from '../program/output.ts';
import { readSettings } from '../settings/file.ts';

/** Lines that cannot be used are named up to this number. */
const mostNamed = 20;

export const judgeReplay: CommandEntry = {
  summary: 'Judge a recorded stream of faults by the settings, rules over time included; changes nothing.',
  arguments: [
    {
      name: '<file>',
      describe:
        'JSON lines {"at", "line"} or {"at", "fault": {"source", "code"}}, with "node" where it matters; -: stdin',
    },
  ],
  options: [
    { flags: '--config <file>', describe: 'Settings file of the worker: its rules, suppressions and responses' },
    { flags: '--node <name>', describe: 'Node of lines that name none', byDefault: 'node' },
    sharedOptions.output,
  ],
  examples: [
    'kcover judge replay faults.jsonl --config worker.yaml',
    'kcover judge replay - --output json < faults.jsonl',
  ],
  exits: [],
  async run(typed, { environment }) {
    const { settings } = await readSettings('worker', typed.option('config'));
    const file = typed.argument('file');
    const lines = file === '-' ? (await environment.stdin()).split('\n') : linesOf(file);
    return replay(lines, typed.value('node'), settings);
  },
};

async function* linesOf(file: string): AsyncGenerator<string> {
  try {
    const handle = await open(file);
    try {
      yield* handle.readLines();
    } finally {
      await handle.close();
    }
  } catch (error) {
    const because = error instanceof Error ? error.message : String(error);
    throw new KcoverError('file.unreadable', `${file}: ${because}`, { remedy: 'name a file that can be read' });
  }
}

async function replay(
  lines: AsyncIterable<string> | Iterable<string>,
  node: string,
  settings: WorkerSettings,
): Promise<CommandOutput> {
  const nodes = nodeReplay(settings);
  const verdicts = [];
  const unusable = [];
  let number = 0;
  let unusableLines = 0;
  for await (const line of lines) {
    number += 1;
    if (line.trim() === '') continue;
    const seen = observationOf(line, number, node);
    if ('unusable' in seen) {
      unusableLines += 1;
      if (unusable.length < mostNamed) unusable.push({ line: number, because: seen.unusable });
      continue;
    }
    const verdict = seen.fault && nodes.take(seen.fault, seen.at);
    if (verdict) verdicts.push(shown(verdict));
  }
  return {
    data: { verdicts, unusable, unusableLines, state: nodes.state() },
    text: [
      verdicts.length === 0
        ? 'no fault'
        : table(
            ['at', 'node', 'device', 'code', 'effects', 'rule', 'because'],
            verdicts.map(({ at, node: on, device = '', code, effects, rule = '', because }) => [
              at,
              on,
              device,
              code,
              effects.join(' ') || 'record',
              rule,
              because,
            ]),
          ),
      ...unusable.map(({ line, because }) => `line ${line} is not used: ${because}`),
      ...(unusableLines > unusable.length ? [`${unusableLines} lines in all are not used`] : []),
    ].join('\n'),
  };
}

const shown = ({ fault, at, effects, cancels, rules, because }: Verdict) => ({
  at: new Date(at).toISOString(),
  node: fault.node ?? '',
  ...(fault.device !== undefined && { device: fault.device }),
  code: fault.code,
  effects: cancels ? [...effects, 'cancel'] : effects,
  ...(rules.length > 0 && { rule: rules.join(' ') }),
  because: [faultSentence(fault), ...because].join('; '),
});

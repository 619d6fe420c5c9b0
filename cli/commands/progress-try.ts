import { KcoverError } from '../../contract/errors.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import { joinedLength } from '../../faults/logs/cri-line.ts';
import { type OwnPatterns, presetNames } from '../../faults/logs/log-event.ts';
import { readOwnPattern } from '../../faults/logs/own/own-pattern.ts';
import { presets } from '../../faults/logs/presets/index.ts';
import { type CommandEntry, sharedOptions, type Typed } from '../program/command.ts';
import { piecesOf } from '../program/input.ts';
import { properties } from '../program/output.ts';
import { logLines } from '../progress/log-lines.ts';
import { type Trial, tryLog } from '../progress/trial.ts';

export const progressTry: CommandEntry = {
  summary:
    'Say what a container log would tell about the training: steps, pace and checkpoints, and which preset fits.',
  arguments: [
    {
      name: '[file]',
      describe: 'A log as kubectl logs prints it, or as the runtime writes it; - or nothing reads stdin',
    },
  ],
  options: [
    {
      flags: '--preset <name>',
      describe: 'Format of the log; auto takes the first that finds a step or a checkpoint',
      byDefault: 'auto',
      choices: ['auto', ...presetNames],
    },
    {
      flags: '--step <pattern>',
      describe: "Own pattern of a step, with a group (?<step>...), instead of the preset's",
    },
    {
      flags: '--checkpoint <pattern>',
      describe: "Own pattern of a complete checkpoint, with a group (?<checkpoint>...), instead of the preset's",
    },
    sharedOptions.output,
  ],
  examples: [
    'kubectl logs llm-worker-3 --timestamps | kcover progress try',
    `kcover progress try --step 'my step (?<step>\\d+)' train.log --output json`,
  ],
  exits: [],
  async run(typed, { environment }) {
    const preset = ['auto' as const, ...presetNames].find((name) => name === typed.value('preset')) ?? 'auto';
    const pieces = piecesOf(typed.argument('file'), environment, 'kubectl logs POD | kcover progress try');
    const trial = await tryLog(logLines(pieces, joinedLength), { preset, patterns: patternsOf(typed) });
    return { data: trial, text: shown(trial, typed.option('step') !== undefined) };
  },
};

function patternsOf(typed: Typed): OwnPatterns {
  const own = (name: 'step' | 'checkpoint') => {
    const source = typed.option(name);
    if (source === undefined) return {};
    const read = readOwnPattern(source, name);
    if (read.kind === 'refused')
      throw new KcoverError('usage', `--${name}: ${read.because}`, {
        remedy: `write literal text, classes such as \\d, and one group: 'at (?<${name}>\\d+)'`,
      });
    return { [name]: read.pattern };
  };
  return { ...own('step'), ...own('checkpoint') };
}

const pacedBy = { lines: 'as the log prints it', times: 'by the times of its lines' } as const;

function shown({ preset, steps, checkpoints, last, total, msPerStep, paceFrom, counts }: Trial, own: boolean): string {
  const fits = preset === null ? undefined : `${preset} (${presets[preset].describe})`;
  const first = steps[0]?.step;
  const saved = checkpoints.at(-1);
  const text = properties([
    ['preset', fits ?? (own ? 'own pattern' : 'none fits')],
    ['lines', `${counts.lines}`],
    ['steps', last === null ? 'none' : `${counts.steps}: ${first} to ${last}${total === null ? '' : ` of ${total}`}`],
    ['pace', msPerStep === null || paceFrom === null ? 'unknown' : `${paceOf(msPerStep)} a step, ${pacedBy[paceFrom]}`],
    [
      'checkpoints',
      saved === undefined ? 'none' : `${counts.checkpoints}, the last of step ${saved.step ?? 'unknown'}`,
    ],
    ['watchdog', counts.watchdog === 0 ? undefined : `${counts.watchdog} lines: see kcover classify --log`],
  ]);
  return last === null
    ? `${text}\n\nthe log tells no step; try: kcover progress try --step 'at (?<step>\\d+)' FILE`
    : text;
}

const paceOf = (ms: number): string => (ms < 1000 ? `${ms} ms` : formatDuration(Math.round(ms)));

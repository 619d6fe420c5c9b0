/** NVIDIA GPUs that are lost, wait for a reset or have broken memory, by one call of nvidia-smi at a time. */

import type { Finding } from '../../faults/finding.ts';
import { queryFields, readNvidiaSmiCsv } from '../../faults/tools/nvidia-smi/csv.ts';
import type { NvidiaSmiReading } from '../../faults/tools/nvidia-smi/node.ts';
import { type Check, type CheckReading, watchByCheck } from '../checks/watch.ts';
import { type CommandAnswer, createCommand } from '../command/command.ts';
import { missingUntilSeen } from '../command/program.ts';
import type { Detector, DetectorContext } from './detector.ts';

export const smi: Detector = {
  watches: 'NVIDIA GPUs, by nvidia-smi',
  start: (context) => watchByCheck(context, checkOf(context)),
};

/** A GPU that is slow for a short time is not worth a warning: it has to be so in six looks in a row. */
const looks = { slowdown: 6, fault: 2 } as const;
const slowdowns: readonly string[] = ['smi/hw-slowdown', 'smi/hw-thermal', 'smi/power-brake'];

const neededFor = ({ code }: Finding): number => (slowdowns.includes(code) ? looks.slowdown : looks.fault);

function checkOf({ settings: { smi: settings } }: DetectorContext): Check {
  const command = createCommand({ path: settings.command, deadlineMs: settings.deadline });
  let fields: readonly string[] | undefined;
  const missing = missingUntilSeen(settings.command);
  /** Errors that were there at the first look are history: a count says nothing about when. */
  const baseline = new Map<string, number>();

  function grew(reading: NvidiaSmiReading): readonly Finding[] {
    for (const [device, count] of reading.eccErrors)
      baseline.set(device, Math.min(baseline.get(device) ?? count, count));
    const isNew = ({ device = '' }: Finding): boolean =>
      (reading.eccErrors.get(device) ?? 0) > (baseline.get(device) ?? 0);
    return reading.faults.filter((finding) => finding.code !== 'smi/ecc-uncorrected' || isNew(finding));
  }

  /** Which of the fields this version knows: one that is unknown to it fails the whole call. */
  async function knownFields(): Promise<readonly string[]> {
    if (fields !== undefined) return fields;
    const answer = await command.run(['--help-query-gpu']);
    if (answer.kind !== 'sees') throw new Error(whyNot(answer));
    const known = namesIn(answer.output);
    const wanted = [...queryFields, 'clocks_throttle_reasons.active'].filter((name) => known.has(name));
    if (!wanted.includes('uuid')) throw new Error('nvidia-smi --help-query-gpu does not list its fields');
    fields = known.has('clocks_event_reasons.active')
      ? wanted.filter((name) => name !== 'clocks_throttle_reasons.active')
      : wanted;
    return fields;
  }

  async function look(): Promise<CheckReading | { off: string }> {
    const off = await missing();
    if (off !== undefined) return { off };
    const wanted = await knownFields();
    const answer = await command.run([`--query-gpu=${wanted.join(',')}`, '--format=csv,nounits']);
    if (answer.kind === 'unobservable') throw new Error(answer.because);
    // Another version of the driver may know other fields.
    if (answer.kind === 'bad') fields = undefined;
    // A call that fails may have ended before its last row.
    const text = `${answer.output}\n${answer.errors}`;
    const isWhole = answer.kind === 'sees' || text.includes('No devices were found');
    const reading = readNvidiaSmiCsv(text, { gpus: isWhole ? settings.gpus : 0 });
    const isExplained = isWhole || reading.faults.some(({ code }) => code === 'smi/gpu-lost');
    const problem = reading.incomplete ?? (reading.devices === 0 ? reading.unobservable[0]?.because : undefined);
    return {
      findings: grew(reading),
      read: reading.devices,
      because: `reading ${reading.devices} GPUs`,
      problem: problem ?? (answer.kind === 'bad' && !isExplained ? whyNot(answer) : undefined),
    };
  }

  return { name: 'smi', what: 'nvidia-smi', everyMs: settings.every, needed: neededFor, look, stop: command.stop };
}

const whyNot = (answer: Exclude<CommandAnswer, { kind: 'sees' }>): string =>
  answer.kind === 'unobservable'
    ? answer.because
    : `nvidia-smi ended with exit code ${answer.exitCode}: ${`${answer.errors} ${answer.output}`.trim().slice(0, 200)}`;

/** The names in `"clocks_event_reasons.active" or "clocks_throttle_reasons.active"`, which begin a line of the help. */
function namesIn(help: string): ReadonlySet<string> {
  const lines = help.split('\n').filter((line) => line.startsWith('"'));
  return new Set(
    lines.flatMap((line) => line.slice(0, 300).match(/"[a-z][\w.]{0,80}"/g) ?? []).map((name) => name.slice(1, -1)),
  );
}

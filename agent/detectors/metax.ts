/** MetaX GPUs that are missing, not available, too hot or have too many memory errors, by mx-smi. */

import { readMxSmi } from '../../faults/tools/mx-smi.ts';
import { type Check, type CheckReading, watchByCheck } from '../checks/watch.ts';
import { createCommand } from '../command/command.ts';
import { missingUntilSeen } from '../command/program.ts';
import type { Detector, DetectorContext } from './detector.ts';

export const metax: Detector = {
  watches: 'MetaX GPUs, by mx-smi',
  start: (context) => watchByCheck(context, checkOf(context)),
};

/** The three lists of a check; a node without GPUs is not asked for the others. */
const listing = '-L';
const values = ['--show-temperature', '--count-ecc'] as const;

function checkOf({ settings: { metax: settings } }: DetectorContext): Check {
  const command = createCommand({ path: settings.command, deadlineMs: settings.deadline });
  const missing = missingUntilSeen(settings.command);

  async function outputOf(argument: string): Promise<{ readonly output: string; readonly problem?: string }> {
    const answer = await command.run([argument]);
    if (answer.kind === 'sees') return { output: answer.output };
    const because = answer.kind === 'bad' ? `it ended with exit code ${answer.exitCode}` : answer.because;
    return { output: '', problem: `mx-smi ${argument}: ${because}` };
  }

  async function look(): Promise<CheckReading | { off: string }> {
    const off = await missing();
    if (off !== undefined) return { off };
    const listed = await outputOf(listing);
    if (listed.problem !== undefined) throw new Error(listed.problem);
    const parts = [listed];
    for (const argument of values) parts.push(await outputOf(argument));
    // One after the other: every list names its GPUs again.
    const reading = readMxSmi(parts.map(({ output }) => output).join('\n'), settings);
    const problem = parts.find((part) => part.problem !== undefined)?.problem ?? reading.unobservable[0]?.because;
    return { findings: reading.faults, read: reading.devices, because: `reading ${reading.devices} GPUs`, problem };
  }

  return { name: 'metax', what: 'mx-smi', everyMs: settings.every, needed: () => 2, look, stop: command.stop };
}

/** A clock that follows no source, or differs from it, by chronyc. */

import { readChronyc } from '../../faults/tools/chronyc.ts';
import { type Check, type CheckReading, watchByCheck } from '../checks/watch.ts';
import { createCommand } from '../command/command.ts';
import { missingUntilSeen } from '../command/program.ts';
import type { Detector, DetectorContext } from './detector.ts';

export const clock: Detector = {
  watches: 'the clock of the node, by chronyc',
  start: (context) => watchByCheck(context, checkOf(context)),
};

function checkOf({ settings: { clock: settings } }: DetectorContext): Check {
  const command = createCommand({ path: settings.command, deadlineMs: settings.deadline });
  const missing = missingUntilSeen(settings.command);

  async function look(): Promise<CheckReading | { off: string }> {
    const off = await missing();
    if (off !== undefined) return { off };
    const answer = await command.run(['-c', 'tracking']);
    if (answer.kind === 'unobservable') throw new Error(answer.because);
    const { devices, faults, unobservable } = readChronyc(answer.output || answer.errors, settings.maxOffset);
    const because = faults[0]?.message ?? 'the clock follows its source';
    return { findings: faults, read: devices, because, problem: unobservable[0]?.because };
  }

  return { name: 'clock', what: 'chronyc', everyMs: settings.every, needed: () => 2, look, stop: command.stop };
}

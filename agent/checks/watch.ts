/** Repeats a check of the node, and reports what it finds several times in a row. */

import { setTimeout as sleep } from 'node:timers/promises';
import { oneLine } from '../../contract/text.ts';
import { checkFault } from '../../faults/checks/check-fault.ts';
import { compareLooks, type Occurrence } from '../../faults/checks/occurrence.ts';
import type { Finding } from '../../faults/finding.ts';
import type { DetectorContext, DetectorStatus, RunningDetector } from '../detectors/detector.ts';
import { withDiskDeadline } from '../files/disk-deadline.ts';
import { becauseOf } from '../files/poller.ts';
import { readBootId } from '../kernel-log/boot-id.ts';
import { checkStateWriter, loadCheckState } from './state-file.ts';

/** What one look at the node found. */
export interface CheckReading {
  readonly findings: readonly Finding[];
  /** Devices, files or answers that it read. */
  readonly read: number;
  /** One sentence. */
  readonly because: string;
  /** Why it could not look at everything. */
  readonly problem?: string | undefined;
  /** In spite of the problem nothing is absent from the findings: what could not be looked at is there as it was found last. */
  readonly isComplete?: true;
}

export interface Check {
  /** Name of its state file. */
  readonly name: string;
  /** In logs: `nvidia-smi`. */
  readonly what: string;
  readonly everyMs: number;
  /** Looks in a row before a finding is a fault. */
  readonly needed: (finding: Finding) => number;
  /** `off`: the node has nothing for it to look at. What it throws makes the check unavailable. */
  look(): Promise<CheckReading | { readonly off: string }>;
  /** Ends what it runs. */
  stop?(): void;
}

type Status = Omit<DetectorStatus, 'read'>;

export function watchByCheck(context: DetectorContext, check: Check): RunningDetector {
  const { hostRoot, node, log, stateDirectory, settled } = context;
  const stopping = new AbortController();
  const save = checkStateWriter(stateDirectory, check.name, log);
  let status: Status = { state: 'starting', because: `starting ${check.what}` };
  let occurrences: readonly Occurrence[] = [];
  let bootId: string | undefined;
  let read = 0;

  function becomes(next: Status): void {
    if (next.state === 'unavailable' && status.because !== next.because)
      log.warn({ because: next.because }, `${check.what} cannot be looked at`);
    status = next;
  }

  /** Findings of another boot are forgotten: a reboot clears most of them, and the others are found again. */
  async function begin(boot: string): Promise<void> {
    if (boot === bootId) return;
    const stored = bootId === undefined ? await loadCheckState(stateDirectory, check.name) : 'absent';
    if (stored === 'unusable') await context.gap({ what: 'state-lost', lost: 'unknown' });
    occurrences = typeof stored === 'object' && stored.bootId === boot ? stored.occurrences : [];
    bootId = boot;
  }

  /** The findings are kept only after their faults are in the spool, so that they are found again rather than lost. */
  async function judge({ findings, problem, isComplete }: CheckReading, boot: string): Promise<void> {
    const at = new Date().toISOString();
    const complete = isComplete ?? problem === undefined;
    const compared = compareLooks(occurrences, { findings, complete, at }, check.needed);
    for (const due of compared.due) {
      const fault = checkFault(due, { node, bootId: boot, seenAt: at });
      log.warn({ fault: fault.id, code: fault.code, device: fault.device, because: fault.message }, 'fault found');
      await context.fault(fault);
    }
    occurrences = compared.occurrences;
    if (settled()) await save({ bootId: boot, occurrences });
  }

  async function look(): Promise<Status> {
    const reading = await check.look();
    if (stopping.signal.aborted) return status;
    if ('off' in reading) return { state: 'off', because: reading.off };
    const boot = await readBootId(hostRoot);
    await begin(boot);
    await judge(reading, boot);
    read += reading.read;
    const { problem, because } = reading;
    return problem === undefined
      ? { state: 'watching', because }
      : { state: 'unavailable', because: oneLine(problem, 300) };
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      becomes(await look().catch((error: unknown): Status => ({ state: 'unavailable', because: becauseOf(error) })));
      await sleep(check.everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      check.stop?.();
      await withDiskDeadline(running).catch(() => undefined);
    },
    status: () => ({ ...status, read }),
  };
}

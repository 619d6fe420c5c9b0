/**
 * Which ranks may have broken a collective, from the logs of all ranks after a failure. A rank that did not join it is a suspect, and one that
 * reports the timeout is not: it only waited. A suspect is never convicted by that alone.
 */

import type { Suspect } from '../../contract/recovery/evidence.ts';
import { createLineJoiner } from './cri-line.ts';
import type { LogEvent, TorchrunEvent, WatchdogEvent } from './log-event.ts';
import { createLogReader } from './log-reader.ts';

/** What the logs of one pod say. Pods whose logs could not be read are left out: nothing is known about their ranks. */
export interface RankLog {
  readonly pod: string;
  readonly node?: string;
  readonly events: readonly LogEvent[];
  /** When it begins, ms, where only its end was read; absent where it is complete. */
  readonly since?: number;
  /** When a watchdog line was written first, ms, where its lines have times. */
  readonly watchdogAt?: number;
}

/** `cut`: `lines` are only the end of the log. */
export function readRankLog(
  of: Pick<RankLog, 'pod' | 'node'>,
  lines: readonly string[],
  { cut }: { readonly cut: boolean },
): RankLog {
  const [joiner, reader] = [createLineJoiner(), createLogReader({ preset: 'auto' })];
  const events: LogEvent[] = [];
  let [first, watchdogAt]: (number | undefined)[] = [];
  for (const { at = '', text } of lines.flatMap((line) => joiner.take(line))) {
    const found = reader.take(text).filter(({ kind }) => kind === 'watchdog' || kind === 'torchrun');
    events.push(...found);
    const ms = Date.parse(at);
    if (Number.isNaN(ms)) continue;
    first ??= ms;
    if (found.some(isWatchdog)) watchdogAt ??= ms;
  }
  const since = cut ? (first ?? Infinity) : undefined;
  return { ...of, events, ...(since !== undefined && { since }), ...(watchdogAt !== undefined && { watchdogAt }) };
}

/** Most suspects: of more than a few the logs say nothing that helps. */
export const mostSuspects = 8;

export function suspectsOf(logs: readonly RankLog[]): readonly Suspect[] {
  const found = [...whoFailedAlone(logs), ...whoIsBehind(logs), ...whoIsSilent(logs)];
  const byRank = new Map(found.toReversed().map((one) => [`${one.pod}/${one.rank ?? ''}`, one]));
  const suspects = found.filter((one) => byRank.get(`${one.pod}/${one.rank ?? ''}`) === one);
  return suspects.length > mostSuspects ? [] : suspects;
}

const suspect = ({ pod, node }: RankLog, rank: number | undefined, because: string): Suspect => ({
  pod,
  ...(node !== undefined && { node }),
  ...(rank !== undefined && { rank }),
  because,
});

const isWatchdog = (event: LogEvent): event is WatchdogEvent => event.kind === 'watchdog';

/** Exits that are the echo of another failure: SIGABRT is the watchdog's own, SIGTERM and SIGKILL are how others stop a process; also as a shell reports them. */
const echoes: ReadonlySet<number | undefined> = new Set([undefined, 0, -6, -9, -15, 134, 137, 143]);

/** torchrun names the first failure on its own node only, so it counts where a watchdog did not cause it. */
function whoFailedAlone(logs: readonly RankLog[]): readonly Suspect[] {
  return logs.flatMap((log) =>
    log.events
      .filter((event): event is TorchrunEvent => event.kind === 'torchrun' && !echoes.has(event.exitCode))
      .map(({ rank, exitCode }) =>
        suspect(log, rank, `torchrun saw rank ${rank} fail first on its node: ${exitOf(exitCode)}`),
      ),
  );
}

const exitOf = (code = 0): string => (code < 0 ? `signal ${-code}` : `exit code ${code}`);

interface Position {
  readonly log: RankLog;
  readonly rank: number;
  readonly enqueued: number;
}

/**
 * The last position of each rank in each process group; numbers of different groups cannot be compared. A rank that several logs claim is left out:
 * a container may write any rank into its log.
 */
function positionsOf(logs: readonly RankLog[]): ReadonlyMap<string, readonly Position[]> {
  const groups = new Map<string, Map<number, Position | 'disputed'>>();
  for (const log of logs)
    for (const { rank, group, lastEnqueued: enqueued } of log.events.filter(isWatchdog)) {
      if (rank === undefined || group === undefined || enqueued === undefined) continue;
      const ranks = groups.get(group) ?? new Map<number, Position | 'disputed'>();
      const known = ranks.get(rank);
      const isOwn = known === undefined || (known !== 'disputed' && known.log === log);
      groups.set(group, ranks.set(rank, isOwn ? { log, rank, enqueued } : 'disputed'));
    }
  return new Map(
    [...groups].map(([group, ranks]) => [group, [...ranks.values()].filter((position) => position !== 'disputed')]),
  );
}

/** The fewest collectives begun, where that is the few among many. */
function whoIsBehind(logs: readonly RankLog[]): readonly Suspect[] {
  return [...positionsOf(logs)].flatMap(([group, positions]) => {
    const numbers = positions.map(({ enqueued }) => enqueued);
    // Logs decide how many there are: a call cannot take them all as arguments.
    const lowest = numbers.reduce((a, b) => Math.min(a, b), Infinity);
    const highest = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
    const behind = positions.filter(({ enqueued }) => enqueued === lowest);
    if (lowest === highest || behind.length * 2 > positions.length) return [];
    return behind.map(({ log, rank }) =>
      suspect(
        log,
        rank,
        `rank ${rank} began collective ${lowest} of process group ${group} as its last, others came to ${highest}`,
      ),
    );
  });
}

/**
 * Where watchdogs of most ranks report a timeout, the process of a log without any such line was frozen, gone, or not waiting. A log of which only
 * the end was read counts where it goes back to the first report.
 */
function whoIsSilent(logs: readonly RankLog[]): readonly Suspect[] {
  const silent = logs.filter(({ events }) => !events.some(isWatchdog));
  const reporting = logs.length - silent.length;
  if (reporting === 0 || silent.length * 2 > logs.length) return [];
  const begin = Math.min(...logs.map(({ watchdogAt = Infinity }) => watchdogAt));
  const seen = silent.filter(({ since = -Infinity }) => since < begin);
  return seen.map((log) =>
    suspect(
      log,
      undefined,
      `no watchdog line, while ${reporting} of ${logs.length} logs have one: it did not wait as they did`,
    ),
  );
}

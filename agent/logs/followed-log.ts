/** One container's log: its lines become events, and these the newest report. */

import type { LogReport, WantedLog } from '../../contract/progress/logs.ts';
import { createLineJoiner } from '../../faults/logs/cri-line.ts';
import { createLogReader } from '../../faults/logs/log-reader.ts';
import { openContainerLog } from './container-log.ts';
import { foldEvent, type FoldedLog } from './fold.ts';
import { ownPatternsOf } from './own-patterns.ts';

export interface FollowedLog {
  /** What its container has said; undefined while that is nothing. */
  readonly report: LogReport | undefined;
  /** Reads at most about this much. Throws as `ContainerLog` does. */
  look(share: LookShare): Promise<{ readonly lines: number; readonly skipped: number }>;
  close(): Promise<void>;
}

/** What one look may use. */
export interface LookShare {
  readonly bytes: number;
  /** Time for the lines, ms: a pattern of a user may be slow. What is left then is skipped. */
  readonly ms: number;
}

/** `buffer`: used only during a look. */
export function followLog(hostRoot: string, wanted: WantedLog, buffer: Buffer): FollowedLog {
  const log = openContainerLog(hostRoot, directoryOf(wanted), buffer);
  let run: number | undefined;
  let reading = beginRun(wanted);
  let folded: FoldedLog | undefined;

  function take(raw: string): void {
    for (const { text, at } of reading.lines.take(raw)) {
      const events = at === undefined ? [] : reading.reader.take(text);
      const atMs = events.length > 0 ? Date.parse(at ?? '') : NaN;
      if (!Number.isNaN(atMs))
        for (const event of events) folded = foldEvent(folded, event, new Date(atMs).toISOString());
    }
  }

  return {
    get report() {
      return folded && { pod: wanted.uid, ...folded };
    },
    async look({ bytes, ms }) {
      const { lines, skipped, ...found } = await log.look(bytes);
      // What the container before this one said does not count for it.
      if (run !== undefined && run !== found.run) [reading, folded] = [beginRun(wanted), undefined];
      run = found.run;
      const until = performance.now() + ms;
      // The first line is always taken, so that reading advances however little time there is.
      const late = lines.findIndex((line) => (take(line), performance.now() > until));
      const left = late === -1 ? [] : lines.slice(late + 1);
      return {
        lines: lines.length - left.length,
        skipped: skipped + left.reduce((sum, { length }) => sum + length, 0),
      };
    },
    close: () => log.close(),
  };
}

const beginRun = ({ format, patterns }: WantedLog) => ({
  lines: createLineJoiner(),
  reader: createLogReader({ preset: format, ...(patterns && { patterns: ownPatternsOf(patterns) }) }),
});

/** The names are those of Kubernetes objects: none has a slash. */
const directoryOf = ({ namespace, pod, uid, container }: WantedLog): string =>
  `${podLogs}/${namespace}_${pod}_${uid}/${container}`;

const podLogs = '/var/log/pods';

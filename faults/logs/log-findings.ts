/** What the lines of a container log say about faults. The program in the container writes them, so they are hints for people. */

import type { Action } from '../../contract/faults/action.ts';
import { foreignText } from '../foreign-text.ts';
import type { Finding, Findings } from '../finding.ts';
import { createLineJoiner } from './cri-line.ts';
import type { LogEvent, WatchdogEvent } from './log-event.ts';
import { createLogReader } from './log-reader.ts';

interface Meaning {
  readonly action?: Action;
  readonly because: string;
}

const waiting = 'the rank that reports it waited, and did not break it';

const watchdogs: Readonly<Record<WatchdogEvent['what'], Meaning>> = {
  timeout: { action: 'restart-app', because: `A collective of PyTorch did not end in time; ${waiting}.` },
  position: { action: 'restart-app', because: `PyTorch's watchdog ends this process after a failure; ${waiting}.` },
  dump: { action: 'restart-app', because: `Another rank reported a timeout of a collective to this one.` },
  stuck: {
    action: 'restart-app',
    because: "PyTorch's watchdog stands still itself: a call into CUDA or NCCL does not return.",
  },
  heartbeat: { action: 'restart-app', because: 'The rank monitor had no heartbeat of its rank in time.' },
  section: { action: 'restart-app', because: 'A rank stayed in a section for longer than its rank monitor allows.' },
};

interface Sign extends Meaning {
  readonly code: string;
  /** All of them are in the line. */
  readonly words: readonly string[];
}

/** Source: `cudaGetErrorString`, `ncclGetErrorString` and PyTorch's interpretation of the latter (`NCCLUtils.cpp`). */
const signs: readonly Sign[] = [
  {
    code: 'log/cuda-ecc',
    words: ['uncorrectable ECC error encountered'],
    action: 'reset-gpu',
    because: 'CUDA reports an uncorrectable memory error; the kernel log of the node names the GPU (Xid 48, 94 or 95).',
  },
  {
    code: 'log/cuda-out-of-memory',
    words: ['CUDA out of memory'],
    action: 'restart-app',
    because: 'The application asked for more GPU memory than it has; no node is to blame.',
  },
  {
    code: 'log/cuda-illegal-access',
    words: ['CUDA error: an illegal memory access was encountered'],
    action: 'restart-app',
    because: 'A kernel of the application used an address that it may not use, as with Xid 31.',
  },
  {
    code: 'log/nccl-remote',
    words: ['ncclRemoteError: '],
    action: 'restart-app',
    because: 'NCCL lost a connection: another process ended, or the network failed; this process is not to blame.',
  },
  {
    code: 'log/nccl-system',
    words: ['ncclSystemError: '],
    because: 'A system call or an external library failed in NCCL; it does not say whether the node is to blame.',
  },
  {
    code: 'log/nccl-cuda',
    words: ['ncclUnhandledCudaError: '],
    because: 'A CUDA call failed in NCCL; the lines before it say which.',
  },
  {
    code: 'log/nccl-completion',
    words: ['NET/IB', 'Got completion from peer '],
    because: 'An RDMA operation failed; the fault may be at either end, or between them.',
  },
];

/** One finding for each code, however often it is in the log. */
interface Seen extends Meaning {
  readonly line: string;
  count: number;
  readonly ranks: Set<number>;
}

/** Most ranks that a finding lists. */
const mostRanks = 16;

/** Never throws. Its memory does not depend on the number of lines, apart from the text itself. */
export function logFindings(text: string): Findings {
  const [joiner, reader] = [createLineJoiner(), createLogReader({ preset: 'auto' })];
  const seen = new Map<string, Seen>();
  const add = (code: string, meaning: Meaning, line: string, rank?: number): void => {
    const one = seen.get(code) ?? { ...meaning, line, count: 0, ranks: new Set() };
    one.count += 1;
    if (rank !== undefined && one.ranks.size < mostRanks) one.ranks.add(rank);
    seen.set(code, one);
  };
  for (const whole of linesIn(text))
    for (const { text: line } of joiner.take(whole)) {
      for (const event of reader.take(line)) {
        const found = meaningOf(event);
        if (found) add(found.code, found, line, found.rank);
      }
      for (const sign of signs) if (sign.words.every((word) => line.includes(word))) add(sign.code, sign, line);
    }
  const empty = { source: 'log', what: 'the log', because: 'it is empty' } as const;
  return {
    faults: [...seen].map(([code, one]) => findingOf(code, one)),
    unobservable: text.trim() === '' ? [empty] : [],
  };
}

function meaningOf(event: LogEvent): (Meaning & { readonly code: string; readonly rank?: number }) | undefined {
  if (event.kind === 'watchdog')
    return {
      code: `log/watchdog-${event.what}`,
      ...watchdogs[event.what],
      ...(event.rank !== undefined && { rank: event.rank }),
    };
  if (event.kind !== 'torchrun') return undefined;
  const because =
    event.exitCode === -6
      ? "torchrun names the first failure on its own node; SIGABRT is the end by PyTorch's watchdog, not its cause."
      : 'torchrun names the first failure on its own node.';
  return { code: 'log/torchrun-failure', action: 'restart-app', because, rank: event.rank };
}

function findingOf(code: string, { action, because, line, count, ranks }: Seen): Finding {
  const listed = [...ranks].toSorted((a, b) => a - b).join(', ');
  const more = ranks.size === mostRanks ? ' and others' : '';
  const of = ranks.size === 0 ? '' : `, ${ranks.size === 1 ? 'rank' : 'ranks'} ${listed}${more}`;
  return {
    source: 'log',
    code,
    ...(action !== undefined && { action }),
    message: foreignText(line, 500),
    because: `${because} (${count} ${count === 1 ? 'line' : 'lines'}${of})`,
  };
}

/** Without a copy of all lines at once. */
function* linesIn(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const at = text.indexOf('\n', from);
    const end = at === -1 ? text.length : at;
    yield text.slice(from, end);
    from = end + 1;
  }
}

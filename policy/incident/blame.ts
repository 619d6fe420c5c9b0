/** What caused a fault: decides which budget category a recovery counts in. */

import { traitsOf } from '../../contract/faults/sources.ts';
import {
  type Action,
  type Blame,
  blames,
  type Fault,
  plannedMaintenance,
  preflightFaults,
} from '../../contract/faults/faults.ts';

/**
 * What the faults of one incident blame. The strongest explains the others: a container that exits beside a broken GPU did so because of it.
 * An operator's request blames nothing.
 */
export function blameOf(faults: readonly Fault[]): Blame {
  const found = new Set(faults.map(blameOfOne));
  return blames.find((blame) => found.has(blame)) ?? 'unknown';
}

/** Source: NVIDIA's Xid catalogue, whose action concerns either the application or the device. */
const byAction = {
  ignore: 'unknown',
  'restart-app': 'user',
  'reset-gpu': 'hardware',
  reboot: 'hardware',
  'contact-support': 'hardware',
} as const satisfies Record<Action, Blame>;

/**
 * What single codes blame. Source: Kubernetes' reasons for the end of a pod. A container that could not start is unknown: its command or the device's
 * driver may be missing. The storage of a preflight is seldom local.
 */
const byCode: Readonly<Record<string, Blame>> = {
  'pod/exit': 'user',
  'pod/oom-killed': 'user',
  'pod/init-exit': 'user',
  'pod/evicted': 'platform',
  'pod/disruption': 'platform',
  [preflightFaults.storage]: 'platform',
  [plannedMaintenance]: 'platform',
};

function blameOfOne({ source, code, action, unobservable, message }: Fault): Blame {
  // Its node could not report whether it was the cause.
  if (unobservable !== undefined) return 'unknown';
  // Evicted for exceeding its own requests.
  if (code === 'pod/evicted' && /exceed/i.test(message)) return 'user';
  // An IMEX domain spans nodes, and its recovery is no fault of the job.
  if (code === 'xid/154' && action === 'restart-app') return 'platform';
  return byCode[code] ?? (action === undefined ? traitsOf(source).blame : byAction[action]);
}

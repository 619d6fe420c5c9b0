/** Who caused a fault, so that nobody pays for the faults of others. */

import { type Action, type Blame, blames, type Fault, preflightFaults } from '../contract/faults.ts';

/**
 * Whom faults that belong together blame. The strongest explains the others: a container that exits beside a broken GPU did so because of it.
 * The word of a person blames nobody.
 */
export function blameOf(faults: readonly Fault[]): Blame {
  const found = new Set(faults.map(blameOfOne));
  return blames.find((blame) => found.has(blame)) ?? 'unknown';
}

/** Source: NVIDIA's Xid catalogue, whose action says whether the application or the device is to be seen to. */
const byAction = {
  ignore: 'unknown',
  'restart-app': 'user',
  'reset-gpu': 'hardware',
  reboot: 'hardware',
  'contact-support': 'hardware',
} as const satisfies Record<Action, Blame>;

/** Source: Kubernetes' reasons for the end of a pod. A container that could not be started may lack its image's command or the device's driver. */
const byPodCode: Readonly<Record<string, Blame>> = {
  'pod/exit': 'user',
  'pod/oom-killed': 'user',
  'pod/init-exit': 'user',
  'pod/evicted': 'platform',
  'pod/disruption': 'platform',
};

function blameOfOne({ source, code, action, unobservable, message }: Fault): Blame {
  switch (source) {
    case 'kernel':
      return action === undefined ? 'unknown' : byAction[action];
    case 'preflight':
      // What is mounted there is seldom the machine's own.
      return code === preflightFaults.storage ? 'platform' : 'hardware';
    case 'node':
      return 'platform';
    case 'pod':
      // Its node could not say whether it was the cause.
      if (unobservable !== undefined) return 'unknown';
      // A pod that used more than it asked for is evicted for its own doing.
      if (code === 'pod/evicted' && /exceed/i.test(message)) return 'user';
      return byPodCode[code] ?? 'unknown';
    case 'progress':
    case 'operator':
      return 'unknown';
  }
}

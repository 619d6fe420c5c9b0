/** State of the training, derived from its faults. */

import { type Fault, nodeNotReady, preflightFaults, trainingHangs } from '../../contract/faults/faults.ts';
import { traitsOf } from '../../contract/faults/sources.ts';
import { severities, type Severity } from '../../contract/recovery/plan.ts';
import type { AttemptFacts } from '../../contract/recovery/recovery.ts';
import { lookUp } from '../../faults/kernel/catalogue.ts';
import { blocksWork, recoveryActionIn } from '../../faults/kernel/recovery-action.ts';

/** A severity, and the sentence that says why. */
export interface AssessedSeverity {
  readonly severity: Severity;
  readonly because: string;
}

/**
 * The worst severity of any fault. Training counts as dead where one of its processes has ended or can make no further step, because the others
 * wait for it; and where a person's request is all that is known.
 */
export function severityOf(faults: readonly Fault[], attempt: Pick<AttemptFacts, 'nodes' | 'pods'>): AssessedSeverity {
  if (attempt.pods.length === 0) return { severity: 'dead', because: 'no pod of the job is left' };
  const judged = faults.flatMap((fault) => judge(fault, attempt) ?? []);
  const worst = severities
    .map((severity) => judged.find((one) => one.severity === severity))
    .find((one) => one !== undefined);
  return worst ?? { severity: 'dead', because: 'a person requested it, and nothing else is known' };
}

/** Undefined where the fault says nothing about the training. */
function judge(fault: Fault, { nodes, pods }: Pick<AttemptFacts, 'nodes' | 'pods'>): AssessedSeverity | undefined {
  const { about } = traitsOf(fault.source);
  const where = fault.node === undefined ? '' : ` on ${fault.node}`;
  const says = (severity: Severity, why: string): AssessedSeverity => ({
    severity,
    because: `${fault.code}${where}: ${why}`,
  });
  if (about === 'pod') return says('dead', 'the others wait for a pod that failed');
  if (fault.code === trainingHangs) return says('dead', 'training hangs');
  // A request of a person says nothing about it.
  if (about === 'job') return undefined;
  const node = nodes.find(({ name }) => name === fault.node);
  if (node?.ready === false && pods.some((pod) => pod.node === node.name))
    return says('dead', `${node.name} is not ready`);
  if (fault.code === nodeNotReady)
    return node?.ready === true
      ? says('degrading', `${node.name} is ready again`)
      : says('dead', 'its kubelet does not answer');
  if (fault.code === preflightFaults.slow) return says('slow', 'every step waits for the slowest node');
  const end = endOfProcess(fault);
  return end === undefined ? says('degrading', 'training may continue for a while') : says('dead', end);
}

const unreachable = 'processes can no longer reach this GPU';
const killed = 'the driver ends the processes that use this memory';
const stuck = 'the GPU does not respond until it is reset';

/**
 * Codes after which a process that uses the GPU cannot continue. Not here: errors that only take effect at the next reset (63, 64), and link
 * errors (74, 144 to 150), whose effect depends on their registers; if training hangs after one of them, its missing steps show that.
 * Sources: NVIDIA's Xid catalogue and its pages on memory errors of data center GPUs; for switches the Fabric Manager guide.
 */
const endings: Readonly<Record<string, string>> = {
  'kernel/gpu-off-bus': unreachable,
  'smi/gpu-lost': unreachable,
  'smi/reset-required': stuck,
  'smi/reboot-required': stuck,
  'xid/79': unreachable,
  'xid/167': unreachable,
  'xid/173': unreachable,
  'xid/48': killed,
  'xid/94': killed,
  'xid/95': killed,
  'xid/140': killed,
  'xid/171': killed,
  'xid/172': killed,
  'xid/46': stuck,
  'xid/62': stuck,
  'xid/109': stuck,
  'xid/110': stuck,
  'xid/119': stuck,
  'xid/120': stuck,
  'xid/158': stuck,
  'xid/43': 'the process must end',
  'xid/45': 'its work on this GPU was aborted',
  'sxid/11004': 'traffic of its GPU is blocked',
  'sxid/12028': 'traffic of its GPU is blocked',
};

function endOfProcess({ code, action, message }: Fault): string | undefined {
  const known = Object.hasOwn(endings, code) ? endings[code] : undefined;
  if (known !== undefined) return known;
  // With the other states that Xid 154 names, work continues for a while.
  if (code === 'xid/154') {
    const announced = recoveryActionIn(message);
    if (announced.action !== 'restart-app') return blocksWork(announced) ? stuck : undefined;
  }
  const [, number] = /^sxid\/(\d+)$/.exec(code) ?? [];
  const severity = number === undefined ? undefined : lookUp('sxid', Number(number))?.severity;
  if (severity === 'fatal' || severity === 'critical') return 'work over this switch is ended';
  return action === 'restart-app' ? 'the vendor says that the application must be restarted' : undefined;
}

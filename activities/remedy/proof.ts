/** Waits until a machine shows that a hook had an effect. */

import { Context } from '@temporalio/activity';
import type { V1Node } from '@kubernetes/client-node';
import { formatDuration } from '../../contract/settings/duration.ts';
import type { MachineView, Proof, ProofRequest, ProofResult } from '../../contract/remedy/remedy.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { awaitObjects } from '../../kube/client/await-objects.ts';
import { observationClock, observedOf } from '../../kube/client/observation-clock.ts';
import { acceleratorsIn, acceleratorsOf, readinessOf } from '../../kube/nodes/nodes.ts';
import { amountsOf } from '../../kube/pods/requests.ts';
import type { Dependencies } from '../dependencies.ts';
import { reportInHeartbeats } from '../heartbeats.ts';

export async function awaitProof({ kube, now }: Dependencies, request: ProofRequest): Promise<ProofResult> {
  const { info, cancellationSignal: signal } = Context.current();
  // From the schedule, so that a later try does not start over.
  const clock = observationClock(now, info.scheduledTimestampMs, observedOf(info.heartbeatDetails));
  reportInHeartbeats(() => ({ clock: clock.observed() }));
  const deadline = info.scheduledTimestampMs + request.timeoutMs;
  let missing = 'the node was not observed';
  const proven = await awaitObjects(
    { kube, clock, deadline, signal },
    [{ path: '/api/v1/nodes', fieldSelector: `metadata.name=${request.node}` }],
    (nodes = []): ProofResult | undefined => {
      const [node] = nodes as readonly V1Node[];
      if (node?.metadata?.uid !== request.before.uid)
        return { outcome: 'gone', because: node ? 'the node was replaced' : 'the node is gone' };
      const lacks = whatIsMissing(node, request);
      if (lacks.length === 0) return { outcome: 'proven', because: inWords(node, request) };
      missing = lacks.join('; ');
      return undefined;
    },
  );
  return proven ?? { outcome: 'not-proven', because: `after ${formatDuration(request.timeoutMs)} ${missing}` };
}

/** What the node does not show yet, a sentence for each; undefined where it shows it. */
const checks: Readonly<Record<Proof, (node: V1Node, before: MachineView) => string | undefined>> = {
  rebooted: (node, { bootId }) => {
    const now = node.status?.nodeInfo?.bootID ?? '';
    if (now === bootId || now === '') return `its boot id is still ${bootId}`;
    // A kubelet writes both at once; only one of the new boot counts.
    return isReady(node);
  },
  ready: (node) => isReady(node),
  allocatable(node, before) {
    const allocatable = acceleratorsIn(amountsOf(node.status?.allocatable));
    const expected = expectedOf(node, before);
    if (Object.values(expected).every((amount) => amount === 0)) return 'it has no accelerators';
    const [short] = Object.entries(expected).filter(([name, amount]) => (allocatable[name] ?? 0) < amount);
    return short && `it has ${allocatable[short[0]] ?? 0} of ${short[1]} ${short[0]}`;
  },
  /** The caller knows it. */
  result: () => undefined,
};

function isReady(node: V1Node): string | undefined {
  const { ready, because } = readinessOf(node);
  return ready ? undefined : `it is not ready: ${foreignText(because, 200)}`;
}

/** A broken accelerator leaves what is allocatable first, but stays in the capacity: the larger count is that of a whole machine. */
function expectedOf(node: V1Node, { accelerators }: MachineView): MachineView['accelerators'] {
  const capacity = acceleratorsOf(node);
  const names = Object.keys({ ...accelerators, ...capacity });
  return Object.fromEntries(names.map((name) => [name, Math.max(accelerators[name] ?? 0, capacity[name] ?? 0)]));
}

/** What the node does not show yet. Pure. */
export const whatIsMissing = (node: V1Node, { proof, before }: Pick<ProofRequest, 'proof' | 'before'>): string[] => [
  ...new Set(proof.flatMap((each) => checks[each](node, before) ?? [])),
];

const shown: Readonly<Record<Proof, (node: V1Node, before: MachineView) => string>> = {
  rebooted: (node, { bootId }) => `its boot id was ${bootId} and is ${node.status?.nodeInfo?.bootID}`,
  ready: () => 'it is ready',
  allocatable: (node, before) =>
    `it has ${Object.entries(expectedOf(node, before))
      .map(([name, amount]) => `${amount} ${name}`)
      .join(', ')}`,
  result: () => 'its hook says so',
};

const inWords = (node: V1Node, { proof, before }: ProofRequest): string =>
  proof.map((each) => shown[each](node, before)).join('; ');

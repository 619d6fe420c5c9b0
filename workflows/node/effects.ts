/** What a node's workflow does in each phase. Each effect answers with one event; undefined when something that arrived has changed the phase. */

import { condition, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import { traitsOf } from '../../contract/faults/sources.ts';
import { clusterWorkflowId } from '../../contract/ids.ts';
import { signals } from '../../contract/wire/messages.ts';
import { isHistoryLong, now } from '../arrivals.ts';
import { allAnnounced, announce, attempt, decideNode, perform, tolerate } from '../proxies.ts';
import type { InPhase, Machine } from '../state-machine.ts';
import type { NodeEvent } from './events.ts';
import type { Message } from './messages.ts';
import { deadlineOf, hasArrivals, incidentOnNode, type NodeState, pendingWork } from './state.ts';
import { goesOn } from './release.ts';
import { sendToRemedy } from './child.ts';

export type NodeMachine = Machine<NodeState, NodeEvent>;
type Effect<Phase extends NodeState['phase']> = (
  state: InPhase<NodeState, Phase>,
  machine: NodeMachine,
) => Promise<NodeEvent | undefined>;

const effects: { readonly [Phase in Exclude<NodeState['phase'], 'ended'>]: Effect<Phase> } = {
  observing: observe,
  watching: rest,
  deciding: decide,
  reserving: reserve,
  quarantining: quarantine,
  'awaiting-reservation': rest,
  quarantined: rest,
  releasing: release,
  closing: close,
};

export const runEffect = (
  state: Exclude<NodeState, { phase: 'ended' }>,
  machine: NodeMachine,
): Promise<NodeEvent | undefined> => (effects[state.phase] as Effect<typeof state.phase>)(state, machine);

export async function send(node: string, message: Message): Promise<void> {
  switch (message.to) {
    case 'jobs':
      return void (await tolerate(
        perform('notifyJobs', `notify the jobs on ${node}: ${message.state}`, { node, faults: message.faults }),
      ));
    case 'cluster':
      return signalCluster(signals.returned, { nodeUids: [message.returned] });
    case 'remedy':
      return sendToRemedy(node, message);
    case 'people':
      return void announce(message.event);
    case 'records':
      await tolerate(
        perform('recordIncident', `keep the record: ${message.record.ended?.outcome ?? 'quarantined'}`, message.record),
      );
  }
}

/** A cluster's workflow that does not run holds no reservation, and nothing waits for it. */
const signalCluster = (signal: string, payload: object): Promise<void> =>
  getExternalWorkflowHandle(clusterWorkflowId)
    .signal(signal, payload)
    .catch(() => undefined);

async function observe({ node, view: was }: NodeState): Promise<NodeEvent> {
  const view = await perform('observeNode', was ? `read ${node} again` : `read ${node}`, { node });
  return { kind: 'observed', view, at: now() };
}

async function decide({
  view,
  judged,
  history,
  batch: { faults, request },
}: InPhase<NodeState, 'deciding'>): Promise<NodeEvent> {
  const decision = await decideNode({
    ...(view && { node: view }),
    faults,
    ...(judged && { judged }),
    ...(request && { askedBy: request }),
    history,
    now: now(),
  });
  return { kind: 'decided', decision, at: now() };
}

/** What is to be done: at once, because of something that arrives, or when the deadline passes. */
async function rest(state: NodeState, machine: NodeMachine): Promise<NodeEvent | undefined> {
  if (pendingWork(state) === undefined) {
    // What its repair reports is shown and recorded.
    const isDue = () =>
      pendingWork(machine.state) !== undefined || machine.state.remedy !== state.remedy || isHistoryLong();
    const deadline = deadlineOf(state);
    const summary =
      state.releaseAt !== undefined ? 'release again' : state.held ? 'ask again' : 'until it counts as quiet';
    if (deadline === undefined) await condition(isDue);
    else if (!(await condition(isDue, Math.max(1, deadline - now()), { summary })))
      return { kind: 'deadlinePassed', deadline, at: now() };
  }
  const kind = pendingWork(machine.state);
  return kind && { kind, at: now() };
}

async function reserve({ node, view, held, faults, history }: InPhase<NodeState, 'reserving'>): Promise<NodeEvent> {
  if (held.reported !== undefined && held.by === 'kcover') {
    // A decision that may have been made under other settings is made again before it is carried out.
    const decision = await decideNode({ node: view, faults, history, now: now(), again: true });
    if (decision.kind !== 'quarantine') return { kind: 'noLongerWanted', decision };
  }
  const asked = held.by === 'kcover' ? { ...(held.preflight && { preflight: held.preflight }) } : { byOperator: true };
  const request = { node, nodeUid: view.uid, incident: held.incident, cause: held.reason, ...asked };
  let answer = await perform('reserveQuarantine', `may ${node} be quarantined?`, request);
  if (!answer.granted) {
    await signalCluster(signals.waiting, { workflowId: workflowInfo().workflowId });
    // Registered before asking once more, so that a change in between is not missed.
    if (held.reported === undefined)
      answer = await perform('reserveQuarantine', `may ${node} be quarantined now?`, request);
  }
  const { storm } = answer;
  return answer.granted
    ? { kind: 'reserved', incident: answer.incident, storm }
    : { kind: 'refused', because: answer.because, storm };
}

async function quarantine({ node, view, held }: InPhase<NodeState, 'quarantining'>): Promise<NodeEvent> {
  const { incident, reason, because, preflight } = held;
  const write = { node, uid: view.uid, incident, reason, because, ...(preflight && { preflight }) };
  const written = await attempt(perform('quarantineNode', `quarantine ${node}: ${because}`, write));
  if ('failed' in written) return { kind: 'quarantineNotWritten', because: written.failed };
  return { kind: 'quarantineWritten', taint: written.done.taint, at: Date.parse(written.done.at) };
}

async function release(state: InPhase<NodeState, 'releasing'>): Promise<NodeEvent> {
  const { node, view, held, judged, history, request } = state;
  const onNode = incidentOnNode(state);
  // A quarantine that is only held has left nothing on the node, but what was judged is written there all the same.
  const incident = onNode ?? held?.incident;
  if (!view || incident === undefined) return { kind: 'released', removed: false, at: now() };
  const reported = state.faults
    .filter(({ source, code }) => traitsOf(source).recordedAtRelease?.test(code) === true)
    .map(({ id }) => id);
  const answer = await attempt(
    perform('releaseNode', `release ${node}: ${request.by}: ${request.reason}`, {
      node,
      uid: view.uid,
      incident,
      by: request.by,
      because: request.reason,
      ...(judged && { judged }),
      ...(reported.length > 0 && { reported }),
      history,
    }),
  );
  const at = now();
  if ('failed' in answer)
    return onNode === undefined
      ? { kind: 'released', removed: false, at }
      : { kind: 'releaseFailed', because: answer.failed, at };
  const { kind, remainingTaint } = answer.done;
  if (kind === 'gone') return { kind: 'releaseFoundNoNode' };
  return {
    kind: 'released',
    removed: kind === 'released',
    ...(onNode !== undefined && remainingTaint !== undefined && { remainingTaint }),
    at,
  };
}

/** Waits for pending Events, unless there is work. */
async function close({ node, outcome }: InPhase<NodeState, 'closing'>, machine: NodeMachine): Promise<NodeEvent> {
  await condition(() => allAnnounced() || goesOn(machine.state, outcome));
  const { state } = machine;
  if (goesOn(state, outcome)) return { kind: 'decisionBegun', at: now() };
  if (state.view || !hasArrivals(state)) return { kind: 'eventsWritten' };
  const arrivals = state.inbox.length;
  return {
    kind: 'successorObserved',
    view: await perform('observeNode', `which machine is ${node} now?`, { node }),
    arrivals,
  };
}

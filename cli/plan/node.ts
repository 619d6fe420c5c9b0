/** The machine of the node's workflow, run for a hypothetical fault: its quarantine is assumed to be granted and written. Pure. */

import { type Fault, nodeNotReady } from '../../contract/faults/faults.ts';
import type { NodeView } from '../../contract/node/nodes.ts';
import type { Ladder } from '../../contract/remedy/remedy.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { NodeDecision } from '../../contract/wire/activities.ts';
import type { Undated } from '../../policy/decision.ts';
import { decideNode } from '../../policy/node/node.ts';
import type { NodeEvent } from '../../workflows/node/events.ts';
import { firstState, type NodeState } from '../../workflows/node/state.ts';
import { nodeTransitions } from '../../workflows/node/transitions.ts';
import { nextState } from '../../workflows/state-machine.ts';
import type { PlanInput } from './facts.ts';
import type { PlanStep } from './recovery.ts';

interface PlannedNode {
  /** With the fault as the job receives it, and the node as it is then. */
  readonly facts: PlanInput;
  readonly steps: readonly PlanStep[];
  readonly assumed: readonly string[];
  /** Missing when the fault does not blame a node. */
  readonly decision?: Undated<NodeDecision>;
  /** The fault is reported to the jobs on the node. */
  readonly isReported: boolean;
}

export function planNode(facts: PlanInput, settings: WorkerSettings): PlannedNode {
  const { hypothetical: fault, attempt } = facts;
  if (fault?.node === undefined || fault.pod !== undefined) return { facts, steps: [], assumed: [], isReported: true };
  const known = attempt.nodes.find(({ name }) => name === fault.node);
  const view = known ?? { name: fault.node, uid: '', systemUuid: '', ready: true, cordoned: false };
  const decision = decideNode({ node: view, faults: [fault] }, settings);
  const state = afterDecision(view, fault, decision, Date.parse(facts.at));
  const reported = state.outbox.flatMap((message) => (message.to === 'jobs' ? message.faults : [])).at(-1);
  const quarantined = state.phase === 'quarantined' && { taint: { value: decision.reason ?? 'fault', ours: true } };
  const after = { ...view, ...(!view.taint && quarantined), ...(fault.code === nodeNotReady && { ready: false }) };
  const nodes = [...attempt.nodes.filter((node) => node !== known), after];
  return {
    facts: { ...facts, hypothetical: reported ?? fault, attempt: { ...attempt, nodes } },
    steps: quarantineSteps(fault.node, decision, settings),
    assumed: [
      ...(known ? [] : [`${fault.node} is ready and has no taint: it is not among the facts`]),
      ...(quarantined ? [`the limit of quarantined nodes allows the quarantine of ${fault.node}`] : []),
    ],
    decision,
    isReported: reported !== undefined,
  };
}

function afterDecision(view: NodeView, fault: Fault, decided: Undated<NodeDecision>, at: number): NodeState {
  const decision = { ...decided, settings: '', at };
  const taint = view.taint?.ours === false ? 'other' : 'ours';
  const events = [
    { kind: 'decided', decision, at },
    { kind: 'reserved', incident: '' },
    { kind: 'quarantineWritten', taint, at },
  ] as const satisfies NodeEvent[];
  const first: NodeState = { ...firstState(view.name, at), phase: 'deciding', view, batch: { faults: [fault] } };
  return events.reduce<NodeState>(
    (state, event) => nextState<NodeState, NodeEvent>(nodeTransitions, state, event),
    first,
  );
}

function quarantineSteps(
  node: string,
  { kind, because, reason, ladder }: Undated<NodeDecision>,
  { quarantine: { taint, cordon } }: WorkerSettings,
): PlanStep[] {
  if (kind !== 'quarantine' && kind !== 'observe') return [];
  const what = `${node}: taint ${taint.key}=${taint.value ?? reason ?? ''}:${taint.effect}${cordon ? ', and cordon' : ''}`;
  const step: PlanStep = {
    step: 'quarantine',
    what,
    because: `${because}; if the limit of quarantined nodes refuses it, the recovery is held`,
  };
  const steps = [step, ...(ladder ? [repairStep(node, ladder)] : [])];
  return kind === 'observe' ? steps.map((one) => ({ ...one, otherwise: true })) : steps;
}

/** The ladder of the settings: a rung is taken when the one before it did not cure the node. */
function repairStep(node: string, { rungs, because, release, probationMs }: Ladder): PlanStep {
  const names = rungs.map(({ hook, attempts, verify }) =>
    [
      hook,
      ...(attempts > 1 ? [`up to ${attempts} times`] : []),
      ...(verify === undefined ? [] : [`tested by ${verify}`]),
    ].join(', '),
  );
  const end = release === 'verified' ? 'kcover releases it' : 'a person releases it';
  return {
    step: 'repair',
    what: `${node}: ${names.join('; then ')}; ${formatDuration(probationMs)} on probation, then ${end}`,
    because,
  };
}

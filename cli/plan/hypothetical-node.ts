/** The response of the node's workflow to a hypothetical fault, and the facts after it. Pure. */

import type { NodeDecision } from '../../contract/wire/activities.ts';
import { type Fault, nodeNotReady, type QuarantineStatus } from '../../contract/faults/faults.ts';
import type { NodeView } from '../../contract/node/nodes.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { Undated } from '../../policy/decision.ts';
import { decideNode } from '../../policy/node/node.ts';
import type { PlanInput } from './facts.ts';
import type { PlanStep } from './steps.ts';

interface NodeAssessment {
  readonly facts: PlanInput;
  readonly steps: readonly PlanStep[];
  /** Missing when the fault does not blame a node. */
  readonly decision?: Undated<NodeDecision>;
  /** The fault is reported to the jobs on the node. */
  readonly concerns: boolean;
}

/** Decides for the node. A quarantine comes before any stop, so the facts have the node as already quarantined. */
export function judgeHypothetical(facts: PlanInput, settings: WorkerSettings): NodeAssessment {
  const { hypothetical: fault } = facts;
  if (fault?.node === undefined || fault.pod !== undefined) return { facts, steps: [], concerns: true };
  const view = facts.attempt.nodes.find(({ name }) => name === fault.node);
  const decision = decideNode({ ...(view && { node: view }), faults: [fault] }, settings);
  if (decision.asks)
    return { facts, decision, steps: quarantineSteps(fault.node, decision, settings), concerns: false };
  const state = holdOf(decision, fault);
  if (state === undefined) return { facts, decision, steps: [], concerns: false };
  const quarantine: QuarantineStatus = { state, because: decision.because };
  const nodes = facts.attempt.nodes.map((node) =>
    node.name === fault.node ? afterwards(node, state, decision.reason) : node,
  );
  return {
    facts: { ...facts, hypothetical: { ...fault, quarantine }, attempt: { ...facts.attempt, nodes } },
    decision,
    steps: quarantineSteps(fault.node, decision, settings),
    concerns: true,
  };
}

function holdOf({ kind }: Undated<NodeDecision>, { code }: Fault): QuarantineStatus['state'] | undefined {
  switch (kind) {
    case 'quarantine':
      return 'quarantined';
    case 'observe':
      return 'observed';
    case 'restart':
      return code === nodeNotReady ? 'not-ready' : 'in-service';
    case 'warn':
    case 'record':
      return undefined;
  }
}

function afterwards(node: NodeView, state: QuarantineStatus['state'], reason = 'fault'): NodeView {
  if (state === 'not-ready') return { ...node, ready: false };
  return state === 'quarantined' && !node.taint ? { ...node, taint: { value: reason, ours: true } } : node;
}

function quarantineSteps(
  node: string,
  { kind, because, reason }: Undated<NodeDecision>,
  { quarantine: { taint, cordon } }: WorkerSettings,
): PlanStep[] {
  if (kind !== 'quarantine' && kind !== 'observe') return [];
  const what = `${node}: taint ${taint.key}=${taint.value ?? reason ?? ''}:${taint.effect}${cordon ? ', and cordon' : ''}`;
  const step: PlanStep = {
    step: 'quarantine',
    what,
    because: `${because}; if the limit of quarantined nodes refuses it, the recovery is held`,
  };
  return [kind === 'observe' ? { ...step, otherwise: true } : step];
}

/** Repairs nodes in memory: the test says what hooks, proofs and drains answer, and everything that is asked is kept. */

import type {
  DrainResult,
  HookRequest,
  HookResult,
  MachineView,
  ProofRequest,
  ProofResult,
  RecallRequest,
  RemedyPermit,
} from '../../../contract/remedy/remedy.ts';
import type { Activities } from '../../../contract/wire/activities.ts';
import type { NodeView } from '../../../contract/node/nodes.ts';
import { whyNoRepair } from '../../../policy/remedy/permit.ts';
import type { FakeClusterState } from './state.ts';

type Names = 'recallIncidents' | 'permitRepair' | 'observeMachine' | 'drainNode' | 'runHook' | 'awaitProof';

/** What a test may change while it runs. */
export class FakeRemedies {
  /** Every permission that was asked for, and what was done with it, in order. */
  readonly asked: string[] = [];
  readonly hooks: HookRequest[] = [];
  readonly proofs: ProofRequest[] = [];
  /** Answer of the workflow of the cluster. */
  permit: RemedyPermit = { kind: 'granted' };
  /** Earlier incidents of the machine. */
  earlier: readonly string[] = [];
  readonly recalled: RecallRequest[] = [];
  hook: (request: HookRequest) => HookResult | Promise<HookResult> = () => ({ verdict: 'passed', because: 'done' });
  proof: (request: ProofRequest) => ProofResult | Promise<ProofResult> = () => ({
    outcome: 'proven',
    because: 'the boot id changed, and the node is ready',
  });
  drain: () => DrainResult = () => ({ outcome: 'drained', because: '2 pods left', evicted: 2, remaining: [] });
}

const machineOf = ({ uid, systemUuid, ready }: NodeView): MachineView => ({
  uid,
  systemUuid,
  ready,
  bootId: 'boot-1',
  accelerators: { 'nvidia.com/gpu': 8 },
});

export function remedyActivities(cluster: FakeClusterState): Pick<Activities, Names> {
  const { remedies } = cluster;
  return {
    recallIncidents: async (request) => {
      remedies.recalled.push(request);
      return { incidents: [...remedies.earlier, request.incident] };
    },
    permitRepair: async ({ node, uid, incident }) => {
      remedies.asked.push(`permit ${remedies.permit.kind}`);
      const against = whyNoRepair({ node: cluster.nodes.get(node), uid, incident, others: [] }, cluster.settings);
      if (against) return { askAgainMs: 50, ...against };
      return remedies.permit;
    },
    observeMachine: async ({ node }) => {
      remedies.asked.push('look');
      const view = cluster.nodes.get(node);
      return view ? machineOf(view) : null;
    },
    drainNode: async () => {
      remedies.asked.push('drain');
      return remedies.drain();
    },
    runHook: async (request) => {
      remedies.asked.push(`hook ${request.hook}`);
      remedies.hooks.push(request);
      return remedies.hook(request);
    },
    awaitProof: async (request) => {
      remedies.asked.push('proof');
      remedies.proofs.push(request);
      return remedies.proof(request);
    },
  };
}

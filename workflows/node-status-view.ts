/** What a node's workflow shows: answer of its query, current details, search attributes. */

import type { NodeFaults, NodeOutcome, NodeStatus, NodeView } from '../contract/nodes.ts';
import { attributeWriter, iso, showDetails } from './attributes.ts';
import type { NodeState } from './node-state.ts';

/** Where the run stands at this moment. */
export interface NodeSnapshot {
  readonly view: NodeView | undefined;
  readonly deciding: boolean;
  readonly releasing: boolean;
  readonly until: number | undefined;
}

export interface NodeStatusView {
  status(): NodeStatus;
  /** As the jobs on the node receive them, while it is quarantined or to be quarantined. */
  faults(): NodeFaults;
  /** Writes what changed. */
  show(): void;
  close(outcome: NodeOutcome): void;
}

export function nodeStatusView(node: string, state: NodeState, snapshot: () => NodeSnapshot): NodeStatusView {
  const write = attributeWriter();
  const out = () => state.quarantine ?? state.held;

  function phase(): NodeStatus['phase'] {
    const { deciding, releasing } = snapshot();
    if (releasing) return 'releasing';
    if (state.quarantine) return 'quarantined';
    if (state.held?.reported !== undefined) return 'held';
    return deciding || state.held || state.inbox.length > 0 ? 'deciding' : 'watching';
  }

  function waitingFor(): string {
    if (state.releaseAt !== undefined) return 'another try to release it';
    if (state.quarantine) return `kcover node release ${node}`;
    return state.held ? 'a reservation to quarantine' : 'more faults';
  }

  return {
    status() {
      const { view, until } = snapshot();
      const quarantine = out();
      return {
        node,
        phase: phase(),
        because: state.because,
        since: iso(quarantine?.since ?? state.quietSince),
        faults: state.faults.map(({ code, message, seenAt }) => ({ code, message, seenAt })),
        waitingFor: waitingFor(),
        ...(view ? { uid: view.uid } : {}),
        ...(quarantine ? { incident: quarantine.incident, by: quarantine.by } : {}),
        ...(until === undefined ? {} : { until: iso(until) }),
      };
    },
    faults() {
      const shown = phase();
      return { faults: shown === 'quarantined' || shown === 'held' ? state.withHold(shown, state.because) : [] };
    },
    show() {
      const { until } = snapshot();
      write({ KcoverNode: [node], KcoverPhase: phase(), ...(state.faults[0] ? { KcoverFault: state.faults[0].code } : {}) });
      const last = state.faults.slice(-10).map((fault) => `${fault.code} at ${fault.seenAt}: ${fault.message}`);
      showDetails(`${node}: ${phase()}`, [
        ['because', state.because],
        ['waiting for', waitingFor()],
        ['until', until === undefined ? undefined : iso(until)],
        ['incident', out()?.incident],
        ['faults', last.join('; ')],
      ]);
    },
    close({ outcome, because }) {
      state.because = because;
      write({ KcoverOutcome: outcome, KcoverPhase: 'ended' });
      showDetails(`${node}: ${outcome}`, [['because', because]]);
    },
  };
}

/** What a node's workflow shows: answer of its query, current details, search attributes. */

import type { NodeOutcome, NodeStatus, NodeView } from '../contract/nodes.ts';
import { attributeWriter, iso, showDetails } from './attributes.ts';
import type { NodeMemory } from './node-memory.ts';

/** Where the run stands at this moment. */
export interface NodeMoment {
  readonly view: NodeView | undefined;
  readonly deciding: boolean;
  readonly releasing: boolean;
  readonly until: number | undefined;
}

export interface NodePage {
  status(): NodeStatus;
  /** Writes what changed. */
  show(): void;
  close(outcome: NodeOutcome): void;
}

export function nodePage(node: string, memory: NodeMemory, moment: () => NodeMoment): NodePage {
  const write = attributeWriter();
  const out = () => memory.quarantine ?? memory.held;

  function phase(): NodeStatus['phase'] {
    const { deciding, releasing } = moment();
    if (releasing) return 'releasing';
    if (memory.quarantine) return 'quarantined';
    if (memory.held?.told !== undefined) return 'held';
    return deciding || memory.held || memory.inbox.length > 0 ? 'deciding' : 'watching';
  }

  function waitingFor(): string {
    if (memory.releaseAt !== undefined) return 'another try to release it';
    if (memory.quarantine) return `kcover node release ${node}`;
    return memory.held ? 'permission to quarantine' : 'more faults';
  }

  return {
    status() {
      const { view, until } = moment();
      const quarantine = out();
      return {
        node,
        phase: phase(),
        because: memory.because,
        since: iso(quarantine?.since ?? memory.quietSince),
        faults: memory.faults.map(({ code, message, seenAt }) => ({ code, message, seenAt })),
        waitingFor: waitingFor(),
        ...(view ? { uid: view.uid } : {}),
        ...(quarantine ? { incident: quarantine.incident, by: quarantine.by } : {}),
        ...(until === undefined ? {} : { until: iso(until) }),
      };
    },
    show() {
      const { until } = moment();
      write({ KcoverNode: [node], KcoverPhase: phase(), ...(memory.faults[0] ? { KcoverFault: memory.faults[0].code } : {}) });
      const last = memory.faults.slice(-10).map((fault) => `${fault.code} at ${fault.seenAt}: ${fault.message}`);
      showDetails(`${node}: ${phase()}`, [
        ['because', memory.because],
        ['waiting for', waitingFor()],
        ['until', until === undefined ? undefined : iso(until)],
        ['incident', out()?.incident],
        ['faults', last.join('; ')],
      ]);
    },
    close({ outcome, because }) {
      memory.because = because;
      write({ KcoverOutcome: outcome, KcoverPhase: 'ended' });
      showDetails(`${node}: ${outcome}`, [['because', because]]);
    },
  };
}

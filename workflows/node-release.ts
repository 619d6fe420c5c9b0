/** Gives a node back, and says only what is so. */

import { type Fault, nodeNotReady } from '../contract/faults.ts';
import type { OperatorWish } from '../contract/messages.ts';
import type { NodeOutcome, NodeView } from '../contract/nodes.ts';
import { iso } from './attributes.ts';
import type { NodeMemory } from './node-memory.ts';
import type { NodeVoice } from './node-voice.ts';
import { attempt, perform } from './proxies.ts';

interface Releasing {
  readonly node: string;
  readonly wish: OperatorWish;
  readonly view: NodeView | undefined;
  readonly memory: NodeMemory;
  readonly voice: NodeVoice;
}

/** What a person's word about the node does not change: Kubernetes alone says whether it is ready. */
export const isOutage = (fault: Fault): boolean => fault.code === nodeNotReady;

/** `gone`: the machine is, so look. `later`: the taint stands, so the quarantine does, and it is tried again. */
export async function release(releasing: Releasing): Promise<Pick<NodeOutcome, 'outcome' | 'because'> | 'gone' | 'later'> {
  const { node, wish, view, memory, voice } = releasing;
  const because = `${wish.by}: ${wish.reason}`;
  const incident = incidentOnNode(view, memory);
  let stays: string | undefined;
  if (view && incident !== undefined) {
    const { judged } = memory;
    const request = { node, uid: view.uid, incident, by: wish.by, because: wish.reason, ...(judged ? { judged } : {}) };
    const answer = await attempt(perform('releaseNode', `give ${node} back: ${because}`, request));
    if ('failed' in answer) return failed(releasing, incident, answer.failed);
    const { done } = answer;
    if (done.kind === 'gone') return 'gone';
    if (done.kind === 'released') voice.say('Normal', 'released', `released by ${because}`, incident);
    ({ stays } = done);
  }
  if (view) await voice.giveBack(view.uid);
  const came = stays === undefined ? ({ outcome: 'released', because } as const) : ({ outcome: 'not-ours', because: `${because}; ${stays}` } as const);
  await tell(releasing, came);
  return came;
}

/** In whose name the node carries our taint, or may: a write that failed may have come through, and an earlier run may have left its own. */
function incidentOnNode(view: NodeView | undefined, { quarantine, held }: NodeMemory): string | undefined {
  if (quarantine) return quarantine.incident;
  if (held?.reserved) return held.incident;
  return view?.taint?.ours ? (view.taint.incident ?? held?.incident) : undefined;
}

/** A taint that stays though it is not ours keeps pods off the node: people must know. */
async function tell({ node, view, memory, voice }: Releasing, { outcome, because }: Pick<NodeOutcome, 'outcome' | 'because'>): Promise<void> {
  const { quarantine } = memory;
  memory.because = because;
  if (outcome === 'not-ours') voice.say('Warning', 'releaseFailed', because, `${quarantine?.incident ?? node}/${outcome}`);
  await voice.tellJobs(
    memory.faults.filter((fault) => !isOutage(fault)),
    'released',
    because,
  );
  if (view && quarantine) await voice.record(quarantine, view, { at: iso(Date.now()), outcome, because });
}

function failed({ wish, memory, voice }: Releasing, incident: string, why: string): 'later' {
  memory.release = wish;
  memory.releaseAt = Date.now() + memory.askAgainMs;
  memory.because = `still quarantined: it could not be released for ${wish.by} (${wish.reason}): ${why}`;
  voice.say('Warning', 'releaseFailed', `${memory.because}; the next try is at ${iso(memory.releaseAt)}`, `${incident}/${why}`);
  return 'later';
}

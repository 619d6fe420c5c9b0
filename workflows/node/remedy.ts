/** The repair of a quarantined node, as the workflow of the node sees it. Pure. */

import type { NodeDecision } from '../../contract/wire/activities.ts';
import { type Ladder, remedyPhases, type RemedyProgress } from '../../contract/remedy/remedy.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import { isObject } from '../faults.ts';
import { isoTime, type Message, toRecords } from './messages.ts';
import { type NodeData, withMessages } from './state.ts';

const isOpen = ({ remedy }: NodeData): boolean => remedy !== undefined && remedy.phase !== 'ended';

/** Starts the repair of a node that kcover quarantined, once in each quarantine. A taint of others means that they work on the node. */
export function beginRemedy<Data extends NodeData>(data: Data, ladder: Ladder | undefined, at: number): Data {
  const { node, view, quarantine, remedy, faults } = data;
  const isOurs = quarantine?.by === 'kcover' && quarantine.taint === 'ours' && !quarantine.asks;
  if (!ladder || !view || remedy || !isOurs) return data;
  const { incident } = quarantine;
  const { uid, systemUuid } = view;
  const begun: RemedyProgress = {
    incident,
    phase: 'remembering',
    because: ladder.because,
    at: isoTime(at),
    remediations: [],
  };
  const start = { node, uid, systemUuid, incident, ladder, faults };
  return withMessages({ ...data, remedy: begun, doubted: false }, { to: 'remedy', incident, start });
}

/** New faults that convict the node; or the end, as a person who asks for the quarantine takes the node over. */
export function toRemedy(data: NodeData, decision: NodeDecision, request: OperatorRequest | undefined): Message[] {
  const { remedy } = data;
  if (!remedy || !isOpen(data)) return [];
  const { incident } = remedy;
  if (request) return [{ to: 'remedy', incident, cancel: `${request.by} takes the node over: ${request.reason}` }];
  const { faults } = decision;
  return convicts(decision) && faults.length > 0 ? [{ to: 'remedy', incident, faults }] : [];
}

const convicts = ({ kind, asks }: Pick<NodeDecision, 'kind' | 'asks'>): boolean =>
  (kind === 'quarantine' || kind === 'observe') && !asks;

/**
 * A fault that convicts the node again, or a person who takes it over, may reach its repair when that has just ended as cured: kcover then does not
 * release the node by itself, or no longer.
 */
export function doubting<Data extends NodeData>(
  data: Data,
  decision: NodeDecision,
  request: OperatorRequest | undefined,
): Data {
  const { remedy, release } = data;
  if (!remedy || !convicts(decision)) return data;
  const isProven = remedy.phase === 'verifying' || remedy.phase === 'probation' || remedy.outcome === 'cured';
  const kept = release?.by === 'kcover' ? { release: undefined, releaseAt: undefined } : {};
  return isProven || request ? { ...data, ...kept, doubted: true } : data;
}

/** Ends the repair before the quarantine ends. One that an earlier run of this workflow began is not known here. */
export function withoutRemedy<Data extends NodeData>(data: Data, because: string): Data {
  const { remedy, quarantine, held } = data;
  const out = quarantine ?? held;
  const incident = isOpen(data)
    ? remedy?.incident
    : remedy
      ? undefined
      : out?.by === adopted
        ? out.incident
        : undefined;
  return incident === undefined ? data : withMessages(data, { to: 'remedy', incident, cancel: because });
}

/** Author of a quarantine whose taint was found. */
export const adopted = 'an earlier run';

/** What the repair reports. A node that was cured is released where the settings say so. */
export function withProgress<Data extends NodeData>(before: Data, progress: RemedyProgress): Data {
  const { quarantine, view, remedy: was } = before;
  if (quarantine?.incident !== progress.incident || was?.phase === 'ended') return before;
  const isMore = progress.remediations.length > (was?.remediations.length ?? 0);
  // A relapse is recorded: the repair knows.
  const doubted = before.doubted === true && !(isMore && progress.phase !== 'ended');
  const data = { ...before, remedy: progress, doubted };
  const isRecorded = progress.phase === 'ended' || isMore;
  const records = view && isRecorded ? [toRecords(data, quarantine, view)] : [];
  const isCured = progress.outcome === 'cured' && progress.release === 'verified';
  const releases = isCured && !doubted && data.release === undefined;
  return withMessages(releases ? { ...data, release: { by: 'kcover', reason: progress.because } } : data, ...records);
}

/** Progress from a signal, of which nothing was checked; undefined when it cannot be read. */
export function progressIn(payload: unknown): RemedyProgress | undefined {
  if (!isObject(payload)) return undefined;
  const { incident, phase, because, at, remediations } = payload;
  const isKnown = [...remedyPhases, 'ended'].some((one) => one === phase);
  const isText = [incident, because, at].every((text) => typeof text === 'string');
  return isKnown && isText && Array.isArray(remediations) ? (payload as unknown as RemedyProgress) : undefined;
}

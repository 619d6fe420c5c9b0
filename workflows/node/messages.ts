/** What a node's workflow sends to jobs, to the cluster's workflow, to people and to the store of records. Pure: the state keeps it until it is sent. */

import type { Announcement } from '../../contract/wire/activities.ts';
import type { Fault, QuarantineStatus } from '../../contract/faults/faults.ts';
import { eventReasons } from '../../contract/ids.ts';
import type { RemedyInput, RemedyProgress } from '../../contract/remedy/remedy.ts';
import type { NodeQuarantine, NodeRecord, NodeView } from '../../contract/node/nodes.ts';

export type Message =
  /** Faults with the state of the node, for every opted-in job with pods on it. */
  | { readonly to: 'jobs'; readonly state: QuarantineStatus['state']; readonly faults: readonly Fault[] }
  /** Returns the reservation of a machine. */
  | { readonly to: 'cluster'; readonly returned: string }
  /** An Event on the node; nothing waits until it is written. */
  | { readonly to: 'people'; readonly event: Announcement }
  | { readonly to: 'records'; readonly record: NodeRecord }
  | ({ readonly to: 'remedy'; readonly incident: string } & ToRemedy);

/** What the repair of the node receives. */
type ToRemedy = { readonly start: RemedyInput } | { readonly faults: readonly Fault[] } | { readonly cancel: string };

/** The node that a message is about. */
interface About {
  readonly node: string;
  readonly view?: NodeView | undefined;
  readonly faults: readonly Fault[];
  readonly remedy?: RemedyProgress | undefined;
}

const most = { faultsPerSignal: 100, because: 300 } as const;

/** None without faults: jobs learn the state of a node only with its faults. */
export const toJobs = (
  faults: readonly Fault[],
  state: QuarantineStatus['state'],
  why: string,
  storm?: string,
): Message[] => (faults.length === 0 ? [] : [{ to: 'jobs', state, faults: withNodeState(faults, state, why, storm) }]);

/** Faults as jobs receive them. */
export function withNodeState(
  faults: readonly Fault[],
  state: QuarantineStatus['state'],
  why: string,
  storm?: string,
): readonly Fault[] {
  const quarantine = { state, because: why.slice(0, most.because), ...(storm !== undefined && { storm }) };
  return faults.slice(-most.faultsPerSignal).map((fault) => ({ ...fault, quarantine }));
}

export const returned = (uid: string): Message => ({ to: 'cluster', returned: uid });

export function toPeople(
  { node, view }: About,
  type: Announcement['type'],
  reason: keyof typeof eventReasons,
  { message, key = node, storm }: Pick<Announcement, 'message' | 'storm'> & { readonly key?: string | undefined },
): Message[] {
  return view
    ? [
        {
          to: 'people',
          event: {
            about: { kind: 'node', name: node, uid: view.uid },
            type,
            reason: eventReasons[reason],
            message,
            key,
            ...(storm !== undefined && { storm }),
          },
        },
      ]
    : [];
}

/** The record of a quarantine, when it begins and again when it ends. */
export function toRecords(
  { node, faults, remedy }: About,
  { incident, because, by, since, taint, asks }: NodeQuarantine,
  { uid, systemUuid }: Pick<NodeView, 'uid' | 'systemUuid'>,
  ended?: NodeRecord['ended'],
): Message {
  return {
    to: 'records',
    record: {
      schema: 1,
      incident,
      node,
      uid,
      systemUuid,
      because,
      by,
      taint,
      quarantinedAt: isoTime(since),
      faults,
      ...(asks && { asks }),
      ...(remedy && remedy.remediations.length > 0 && { remediations: remedy.remediations }),
      ...(remedy?.outcome && { remedy: { outcome: remedy.outcome, because: remedy.because } }),
      ...(ended && { ended }),
    },
  };
}

export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** The faults of a job that wait: for a decision, or for the report of the recovery that has them. Pure. */

import { type Fault, isOnlyReported } from '../../contract/faults/faults.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { OpenIncident } from '../../contract/job/training-job.ts';
import { iso } from '../../contract/settings/duration.ts';
import { mergeFaults, nodesFirst } from '../faults.ts';
import { type JobData, most } from './state.ts';

interface Arrived {
  readonly faults: readonly Fault[];
  /** Those that could not be used. */
  readonly dropped: number;
}

/** A full inbox keeps the faults of nodes: hundreds of pods that die together say less than the one node that killed them. */
export function arrived<State extends JobData>(state: State, { faults, dropped }: Arrived, at: number): State {
  const seen = new Set(state.seen);
  const fresh = faults.filter(({ id }) => !seen.has(id));
  if (fresh.length === 0) return dropped === 0 ? state : { ...state, dropped: state.dropped + dropped };
  const all = [...state.inbox];
  const changed = new Set(mergeFaults(all, fresh).changed.map(({ id }) => id));
  const inbox = all.length > most.inbox ? nodesFirst(all).slice(0, most.inbox) : all;
  // A node that can be observed again has the usual time to report what it saw.
  const isObservableAgain = unobservable(all) < unobservable(state.inbox);
  return {
    ...state,
    inbox,
    sent: idsIn(
      inbox,
      state.sent.filter((id) => !changed.has(id)),
    ),
    dropped: state.dropped + dropped + all.length - inbox.length,
    waitsForPause: false,
    waitingSince: isObservableAgain ? at : (state.waitingSince ?? at),
    revision: state.revision + 1,
  };
}

const unobservable = (faults: readonly Fault[]): number =>
  faults.filter((fault) => fault.unobservable !== undefined).length;

const idsIn = (inbox: readonly Fault[], ids: readonly string[]): readonly string[] =>
  ids.filter((id) => inbox.some((fault) => fault.id === id));

/** These faults need no recovery any more; they are not taken again. */
export function dismissed<State extends JobData>(state: State, ids: readonly string[]): State {
  if (ids.length === 0) return state;
  const gone = new Set(ids);
  const inbox = state.inbox.filter(({ id }) => !gone.has(id));
  return {
    ...state,
    inbox,
    sent: state.sent.filter((id) => !gone.has(id)),
    seen: [...new Set([...state.seen, ...ids])].slice(-most.seen),
    waitingSince: inbox.length > 0 ? state.waitingSince : undefined,
  };
}

/** Those that are only reported wait here until the recovery is over. */
const forRecovery = (inbox: readonly Fault[]): readonly Fault[] =>
  nodesFirst(inbox.filter((fault) => !isOnlyReported(fault)));

/** Faults that the open recovery does not have yet, as many as fit into one signal. */
export const toForward = ({ inbox, sent }: JobData): readonly Fault[] => {
  const known = new Set(sent);
  return forRecovery(inbox.filter(({ id }) => !known.has(id))).slice(0, most.perSignal);
};

export const forwarded = <State extends JobData>(state: State, ids: readonly string[]): State => ({
  ...state,
  sent: idsIn(state.inbox, [...new Set([...state.sent, ...ids])]),
});

/** Faults of the inbox that a new recovery begins with. */
export const firstFaults = ({ inbox }: JobData): readonly Fault[] => forRecovery(inbox).slice(0, most.perSignal);

/** The faults that a new recovery begins with; a person's request is a fault of its own. */
export function faultsFor(job: JobRef, state: JobData & { readonly open: OpenIncident }): readonly Fault[] {
  const faults = firstFaults(state).map(waitedFor);
  const { askedBy, since } = state.open;
  if (!askedBy) return faults;
  const { by, reason } = askedBy;
  const asked: Fault = {
    id: `operator/${job.uid}/${since}`,
    source: 'operator',
    code: 'operator/recover',
    message: `${by} asked: ${reason}`.slice(0, 300),
    seenAt: iso(since),
  };
  return [asked, ...faults];
}

/** The node's agent had its time to report; the message says that it did not. */
const waitedFor = ({ unobservable, ...fault }: Fault): Fault =>
  unobservable === undefined ? fault : { ...fault, message: `${fault.message}; ${unobservable}`.slice(0, 300) };

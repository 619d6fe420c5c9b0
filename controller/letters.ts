/** What the controller has to say to a workflow, and which of it may start one. */

import type { Fault } from '../contract/faults.ts';
import { faultLimits } from '../contract/faults.ts';
import { jobWorkflowId, nodeWorkflowId, preflightWorkflowId } from '../contract/ids.ts';
import type { JobRef } from '../contract/jobs.ts';
import type { FaultsObserved, JobObserved, NodeObserved, Recover } from '../contract/messages.ts';
import { type CollectedReport, preflightLimits, type Workload } from '../contract/preflight.ts';
import type { RefusedReport } from '../contract/preflight-files.ts';
import type { PodsTesting, ReportsArrived } from '../contract/preflight-runs.ts';
import { howManyFit } from '../contract/signal-size.ts';

/** Whose workflow it is. */
export type Addressee =
  | { readonly kind: 'job'; readonly job: JobRef }
  | { readonly kind: 'node'; readonly node: string }
  | { readonly kind: 'preflight'; readonly workload: Workload };

/** What became of one report file. */
export type Arrival = { readonly report: CollectedReport } | { readonly refused: RefusedReport };

/** One fact for one workflow. */
export type Letter = {
  readonly workflowId: string;
  /** Set when the workflow is started if it does not run; without it a workflow that does not run is not told. */
  readonly starts?: Addressee;
} & (
  | { readonly says: 'start' }
  | { readonly says: 'faultsObserved'; readonly fault: Fault }
  | { readonly says: 'jobObserved'; readonly observed: JobObserved }
  | { readonly says: 'nodeObserved'; readonly observed: NodeObserved }
  | { readonly says: 'recover'; readonly wish: Recover }
  | { readonly says: 'reportsArrived'; readonly arrival: Arrival }
  | { readonly says: 'podsTesting'; readonly testing: PodsTesting }
  | { readonly says: 'podsGone' }
);

/** One request to Temporal: what stands together in a mailbox and says the same, as much as one signal may carry. */
export interface Call {
  readonly workflowId: string;
  readonly starts?: Addressee;
  /** Absent when only the start is wanted. */
  readonly signal?:
    | { readonly name: 'faultsObserved'; readonly payload: FaultsObserved }
    | { readonly name: 'jobObserved'; readonly payload: JobObserved }
    | { readonly name: 'nodeObserved'; readonly payload: NodeObserved }
    | { readonly name: 'recover'; readonly payload: Recover }
    | { readonly name: 'reportsArrived'; readonly payload: ReportsArrived }
    | { readonly name: 'podsTesting'; readonly payload: PodsTesting }
    | { readonly name: 'podsGone'; readonly payload?: undefined };
}

function idOf(to: Addressee): string {
  switch (to.kind) {
    case 'job':
      return jobWorkflowId(to.job);
    case 'node':
      return nodeWorkflowId(to.node);
    case 'preflight':
      return preflightWorkflowId(to.workload);
  }
}

/** The job's workflow shall run. */
export const startLetter = (job: JobRef): Letter => ({ says: 'start', workflowId: jobWorkflowId(job), starts: { kind: 'job', job } });

/** Starts the workflow that has to deal with the fault. */
export const faultLetter = (to: Addressee, fault: Fault): Letter => ({ says: 'faultsObserved', workflowId: idOf(to), starts: to, fault: bounded(fault) });

/** A wish starts the job's workflow too. */
export const wishLetter = (job: JobRef, wish: Recover): Letter => ({ says: 'recover', workflowId: jobWorkflowId(job), starts: { kind: 'job', job }, wish });

/** Opted in again: the old run may be about to end, and a signal keeps it from ending unheard. */
export const optedInLetter = (job: JobRef): Letter => ({
  says: 'jobObserved',
  workflowId: jobWorkflowId(job),
  starts: { kind: 'job', job },
  observed: { change: 'opted-in' },
});

/** The end of a job's supervision; nobody is told when nobody supervises. */
export const jobEndLetter = (workflowId: string, observed: JobObserved): Letter => ({ says: 'jobObserved', workflowId, observed });

/** What became of a Node object; nobody is told when nobody looks after it. */
export const nodeLetter = (node: string, observed: NodeObserved): Letter => ({ says: 'nodeObserved', workflowId: nodeWorkflowId(node), observed });

/** Starts the workflow that collects the reports of the workload. */
export function arrivalLetter(workload: Workload, arrival: Arrival): Letter {
  const starts = { kind: 'preflight', workload } as const;
  return { says: 'reportsArrived', workflowId: idOf(starts), starts, arrival };
}

/** Starts it as well: also a set of pods that never reports is waited for, and told of. */
export function testingLetter(workload: Workload, pod: PodsTesting['pod']): Letter {
  const starts = { kind: 'preflight', workload } as const;
  return { says: 'podsTesting', workflowId: idOf(starts), starts, testing: { pod } };
}

/** No pod of a workload is left; nobody is told when nobody collects. */
export const podsGoneLetter = (workflowId: string): Letter => ({ says: 'podsGone', workflowId });

/** A fault within `faultLimits`: long texts are cut; an id or code that is too long is a defect of its maker. */
export function bounded(fault: Fault): Fault {
  if (fault.id.length > faultLimits.id) throw new RangeError(`the fault id has ${fault.id.length} characters: ${fault.id.slice(0, 80)}`);
  if (fault.code.length > faultLimits.code) throw new RangeError(`the fault code has ${fault.code.length} characters: ${fault.code.slice(0, 80)}`);
  return {
    ...fault,
    message: fault.message.slice(0, faultLimits.message),
    ...(fault.blind !== undefined && { blind: fault.blind.slice(0, faultLimits.message) }),
    ...(fault.evidence && { evidence: fault.evidence.slice(0, faultLimits.evidenceLines).map((line) => line.slice(0, faultLimits.evidenceLine)) }),
  };
}

/** Two letters of one key say the same thing, or the later one says it better. */
export function letterKey(letter: Letter): string {
  if (letter.says === 'faultsObserved') return `fault ${letter.fault.id}`;
  if (letter.says === 'podsTesting') return `testing ${letter.testing.pod.uid}`;
  return letter.says === 'reportsArrived' ? arrivalKey(letter.arrival) : letter.says;
}

function arrivalKey(arrival: Arrival): string {
  if ('report' in arrival) return `report ${arrival.report.pod.uid} ${arrival.report.report.rank} ${arrival.report.writtenAt}`;
  const { rank, what, at } = arrival.refused;
  return `refused ${rank} ${what} ${at}`;
}

/** Facts about an object's state: only the newest counts. Everything else is kept as it was first said. */
export const replacesOlder = (letter: Letter): boolean => letter.says === 'jobObserved' || letter.says === 'nodeObserved';

/** What is many at a time, and how much of it one signal carries. */
const together: Partial<Record<Letter['says'], number>> = { faultsObserved: faultLimits.perSignal, reportsArrived: preflightLimits.perSignal };

/** How many letters from the front travel in one call. */
export function howManyTogether(letters: readonly Letter[]): number {
  const says = letters[0]?.says;
  const most = (says && together[says]) ?? 1;
  const end = letters.slice(0, most).findIndex((letter) => letter.says !== says);
  return howManyFit(end === -1 ? letters : letters.slice(0, end), most);
}

/** How many letters may wait for the workflow of this one: a whole workload reports at the same moment. */
export const mostWaiting = ({ says }: Letter): number =>
  says === 'reportsArrived' || says === 'podsTesting' || says === 'podsGone' ? preflightLimits.size : 2000;

/** Letters of one mailbox that travel together, as one call. */
export function callOf(letters: readonly Letter[]): Call {
  const [first] = letters;
  if (!first) throw new RangeError('a call needs a letter');
  const to = { workflowId: first.workflowId, ...(first.starts && { starts: first.starts }) };
  switch (first.says) {
    case 'start':
      return to;
    case 'faultsObserved':
      return {
        ...to,
        signal: { name: 'faultsObserved', payload: { faults: letters.flatMap((letter) => (letter.says === 'faultsObserved' ? [letter.fault] : [])) } },
      };
    case 'jobObserved':
      return { ...to, signal: { name: 'jobObserved', payload: first.observed } };
    case 'nodeObserved':
      return { ...to, signal: { name: 'nodeObserved', payload: first.observed } };
    case 'recover':
      return { ...to, signal: { name: 'recover', payload: first.wish } };
    case 'reportsArrived':
      return { ...to, signal: { name: 'reportsArrived', payload: arrivalsOf(letters) } };
    case 'podsTesting':
      return { ...to, signal: { name: 'podsTesting', payload: first.testing } };
    case 'podsGone':
      return { ...to, signal: { name: 'podsGone' } };
  }
}

function arrivalsOf(letters: readonly Letter[]): ReportsArrived {
  const arrivals = letters.flatMap((letter) => (letter.says === 'reportsArrived' ? [letter.arrival] : []));
  return {
    reports: arrivals.flatMap((arrival) => ('report' in arrival ? [arrival.report] : [])),
    refused: arrivals.flatMap((arrival) => ('refused' in arrival ? [arrival.refused] : [])),
  };
}

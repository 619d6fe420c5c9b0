/** Messages from the controller to workflows, and which of them may start one. */

import type { Fault } from '../../contract/faults/faults.ts';
import { faultLimits } from '../../contract/faults/faults.ts';
import { jobWorkflowId, nodeWorkflowId, preflightWorkflowId } from '../../contract/ids.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { FaultsObserved, JobObserved, NodeObserved, Recover } from '../../contract/wire/messages.ts';
import { type CollectedReport, preflightLimits, type Workload } from '../../contract/preflight/preflight.ts';
import type { RefusedReport } from '../../contract/preflight/files.ts';
import type { PodsTesting, ReportsArrived } from '../../contract/preflight/runs.ts';
import { howManyFit } from '../../contract/wire/signal-size.ts';

/** The object whose workflow it is. */
export type Addressee =
  | { readonly kind: 'job'; readonly job: JobRef }
  | { readonly kind: 'node'; readonly node: string }
  | { readonly kind: 'preflight'; readonly workload: Workload };

/** The result for one report file. */
export type PreflightArrival = { readonly report: CollectedReport } | { readonly refused: RefusedReport };

/** One fact for one workflow. */
export type WorkflowMessage = {
  readonly workflowId: string;
  /** Set when the workflow is started if it does not run; without it a workflow that does not run gets no message. */
  readonly starts?: Addressee;
} & (
  | { readonly kind: 'start' }
  | { readonly kind: 'faultsObserved'; readonly fault: Fault }
  | { readonly kind: 'jobObserved'; readonly observed: JobObserved }
  | { readonly kind: 'nodeObserved'; readonly observed: NodeObserved }
  | { readonly kind: 'recover'; readonly request: Recover }
  | { readonly kind: 'reportsArrived'; readonly arrival: PreflightArrival }
  | { readonly kind: 'podsTesting'; readonly testing: PodsTesting }
  | { readonly kind: 'podsGone' }
);

/** One request to Temporal: consecutive messages of one queue and kind, as many as one signal may carry. */
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

/** Makes sure that the job's workflow runs. */
export const startMessage = (job: JobRef): WorkflowMessage => ({
  kind: 'start',
  workflowId: jobWorkflowId(job),
  starts: { kind: 'job', job },
});

/** Starts the workflow that handles the fault. */
export const faultMessage = (to: Addressee, fault: Fault): WorkflowMessage => ({
  kind: 'faultsObserved',
  workflowId: idOf(to),
  starts: to,
  fault: bounded(fault),
});

/** A fault that its sender reports as over: only recorded, and only where a workflow looks after the node. */
export const recoveredMessage = (node: string, fault: Fault): WorkflowMessage => ({
  kind: 'faultsObserved',
  workflowId: nodeWorkflowId(node),
  fault: bounded(fault),
});

/** A request starts the job's workflow too. */
export const recoverMessage = (job: JobRef, request: Recover): WorkflowMessage => ({
  kind: 'recover',
  workflowId: jobWorkflowId(job),
  starts: { kind: 'job', job },
  request,
});

/** Opted in again: the old run may be about to end, and a signal keeps it from ending before it has handled this. */
export const optedInMessage = (job: JobRef): WorkflowMessage => ({
  kind: 'jobObserved',
  workflowId: jobWorkflowId(job),
  starts: { kind: 'job', job },
  observed: { change: 'opted-in' },
});

/** The job needs no workflow any more; dropped if none runs. */
export const jobEndMessage = (workflowId: string, observed: JobObserved): WorkflowMessage => ({
  kind: 'jobObserved',
  workflowId,
  observed,
});

/** A change of a Node object; dropped if no workflow runs for it. */
export const nodeMessage = (node: string, observed: NodeObserved): WorkflowMessage => ({
  kind: 'nodeObserved',
  workflowId: nodeWorkflowId(node),
  observed,
});

/** Starts the workflow that collects the reports of the workload. */
export function arrivalMessage(workload: Workload, arrival: PreflightArrival): WorkflowMessage {
  const starts = { kind: 'preflight', workload } as const;
  return { kind: 'reportsArrived', workflowId: idOf(starts), starts, arrival };
}

/** Starts the workflow too, so that a set of pods that never reports is noticed. */
export function testingMessage(workload: Workload, pod: PodsTesting['pod']): WorkflowMessage {
  const starts = { kind: 'preflight', workload } as const;
  return { kind: 'podsTesting', workflowId: idOf(starts), starts, testing: { pod } };
}

/** No pod of a workload is left; dropped if no workflow collects. */
export const podsGoneMessage = (workflowId: string): WorkflowMessage => ({ kind: 'podsGone', workflowId });

/** A fault within `faultLimits`: long texts are cut; an id or code that is too long is a bug of the detector. */
export function bounded(fault: Fault): Fault {
  if (fault.id.length > faultLimits.id)
    throw new RangeError(`the fault id has ${fault.id.length} characters: ${fault.id.slice(0, 80)}`);
  if (fault.code.length > faultLimits.code)
    throw new RangeError(`the fault code has ${fault.code.length} characters: ${fault.code.slice(0, 80)}`);
  return {
    ...fault,
    message: fault.message.slice(0, faultLimits.message),
    ...(fault.unobservable !== undefined && { unobservable: fault.unobservable.slice(0, faultLimits.message) }),
    ...(fault.evidence && {
      evidence: fault.evidence
        .slice(0, faultLimits.evidenceLines)
        .map((line) => line.slice(0, faultLimits.evidenceLine)),
    }),
  };
}

/** Of two messages with the same key the second repeats or replaces the first. */
export function messageKey(message: WorkflowMessage): string {
  if (message.kind === 'faultsObserved') return `fault ${message.fault.id}`;
  if (message.kind === 'podsTesting') return `testing ${message.testing.pod.uid}`;
  return message.kind === 'reportsArrived' ? arrivalKey(message.arrival) : message.kind;
}

function arrivalKey(arrival: PreflightArrival): string {
  if ('report' in arrival)
    return `report ${arrival.report.pod.uid} ${arrival.report.report.rank} ${arrival.report.writtenAt}`;
  const { rank, what, at } = arrival.refused;
  return `refused ${rank} ${what} ${at}`;
}

/** State of an object: only the newest counts. Of everything else the first version is kept. */
export const replacesOlder = (message: WorkflowMessage): boolean =>
  message.kind === 'jobObserved' || message.kind === 'nodeObserved';

/** Kinds that come in large numbers, and how many of them one signal carries. */
const messagesPerCall: Partial<Record<WorkflowMessage['kind'], number>> = {
  faultsObserved: faultLimits.perSignal,
  reportsArrived: preflightLimits.perSignal,
};

/** How many messages from the front fit into one call. */
export function countForOneCall(messages: readonly WorkflowMessage[]): number {
  const kind = messages[0]?.kind;
  const most = (kind && messagesPerCall[kind]) ?? 1;
  const end = messages.slice(0, most).findIndex((message) => message.kind !== kind);
  return howManyFit(end === -1 ? messages : messages.slice(0, end), most);
}

/** How many messages may wait for the workflow of this one: a whole workload reports at the same moment. */
export const mostWaiting = ({ kind }: WorkflowMessage): number =>
  kind === 'reportsArrived' || kind === 'podsTesting' || kind === 'podsGone' ? preflightLimits.size : 2000;

/** Messages of one queue as one call. */
export function callOf(messages: readonly WorkflowMessage[]): Call {
  const [first] = messages;
  if (!first) throw new RangeError('a call needs a message');
  // One of them is enough: a record that needs no workflow may share the call with a fault that needs one.
  const starts = messages.find((message) => message.starts)?.starts;
  const to = { workflowId: first.workflowId, ...(starts && { starts }) };
  switch (first.kind) {
    case 'start':
      return to;
    case 'faultsObserved':
      return {
        ...to,
        signal: {
          name: 'faultsObserved',
          payload: {
            faults: messages.flatMap((message) => (message.kind === 'faultsObserved' ? [message.fault] : [])),
          },
        },
      };
    case 'jobObserved':
      return { ...to, signal: { name: 'jobObserved', payload: first.observed } };
    case 'nodeObserved':
      return { ...to, signal: { name: 'nodeObserved', payload: first.observed } };
    case 'recover':
      return { ...to, signal: { name: 'recover', payload: first.request } };
    case 'reportsArrived':
      return { ...to, signal: { name: 'reportsArrived', payload: arrivalsOf(messages) } };
    case 'podsTesting':
      return { ...to, signal: { name: 'podsTesting', payload: first.testing } };
    case 'podsGone':
      return { ...to, signal: { name: 'podsGone' } };
  }
}

function arrivalsOf(messages: readonly WorkflowMessage[]): ReportsArrived {
  const arrivals = messages.flatMap((message) => (message.kind === 'reportsArrived' ? [message.arrival] : []));
  return {
    reports: arrivals.flatMap((arrival) => ('report' in arrival ? [arrival.report] : [])),
    refused: arrivals.flatMap((arrival) => ('refused' in arrival ? [arrival.refused] : [])),
  };
}

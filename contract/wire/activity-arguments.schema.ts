/**
 * Validation of activity arguments that become part of a path, a selector, a query or a file name. Anyone who may write to Temporal can make
 * kcover do what it does anyway, but no argument may lead to another object than the one it names.
 */

import { z } from 'zod';
import type { Activities } from './activities.ts';
import { jobKindNames } from '../job/jobs.ts';
import { isObjectName, isObjectUid } from '../object-names.ts';

const name = z.string().refine(isObjectName, { error: 'cannot be the name of an object' });
const uid = z.string().refine(isObjectUid, { error: 'cannot be a UID' });
/** Id of an incident or workflow. File names are made from it, and a part of dots alone would be another directory. */
const id = z.string().refine(isId, { error: 'cannot be an id' });
/** Becomes a part of names of objects. */
const label = z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,50}[a-z0-9])?$/);
const attempt = z.int().min(0).max(1_000_000);
const kind = z.string().refine((text) => Object.hasOwn(jobKindNames, text), { error: 'is no kind of job' });

const jobRef = z.looseObject({ kind, namespace: name, name, uid });
const pod = z.looseObject({ name, uid, node: name.optional() });
const workload = z.looseObject({ namespace: name, name, uid, job: jobRef.optional() });
const about = z.union([
  z.looseObject({ kind: z.literal('node'), name }),
  z.looseObject({ kind: z.literal('job'), job: jobRef }),
  z.looseObject({ kind: z.literal('pod'), namespace: name, name, uid }),
]);
const faults = z.array(z.looseObject({ node: name.optional() }));

const ofJob = z.looseObject({ job: jobRef });
const ofIncident = z.looseObject({ incident: id });
const incidentOfJob = z.looseObject({ incident: id, job: jobRef });
/** For pure decisions, for notifications, whose route is looked up by its name, and for a pause, which is stored under a fixed name: no part of it enters a path. */
const anything = z.unknown();

export const activityArguments = {
  decideNode: anything,
  decideIncident: anything,
  decideRecovery: anything,
  decideOptIn: anything,
  decideCapacity: anything,
  decideCollection: anything,
  decidePreflight: anything,
  observeNode: z.looseObject({ node: name }),
  observeCluster: z.looseObject({ clusterUid: uid }),
  storePause: anything,
  reserveQuarantine: z.looseObject({ node: name, nodeUid: uid, incident: id }),
  quarantineNode: z.looseObject({ node: name, uid, incident: id }),
  releaseNode: z.looseObject({ node: name, uid, incident: id }),
  recallIncidents: z.looseObject({ node: name, incident: id }),
  permitRepair: z.looseObject({ node: name, uid, incident: id }),
  observeMachine: z.looseObject({ node: name }),
  observeMaintenance: z.looseObject({ node: name }),
  orderQuarantine: z.looseObject({ node: name }),
  returnNode: z.looseObject({ node: name, incident: id }),
  drainNode: z.looseObject({ node: name, uid }),
  runHook: z.looseObject({ node: name, uid, incident: id, operation: label }),
  awaitProof: z.looseObject({ node: name, before: z.looseObject({ uid }) }),
  notifyJobs: z.looseObject({ node: name, faults }),
  observeJob: ofJob,
  /** UIDs of pods are only compared with those that are listed. */
  observeAttempt: z.looseObject({ job: jobRef, nodes: z.array(name), pods: z.array(z.string()).optional() }),
  listPods: ofJob,
  stopAttempt: z.looseObject({
    incident: id,
    attempt,
    job: jobRef,
    pods: z.array(pod),
    terminating: z.array(pod).optional(),
    force: z.array(pod).optional(),
  }),
  resumeJob: incidentOfJob,
  awaitAttempt: z.looseObject({ incident: id, job: jobRef, old: z.array(uid), remaining: z.array(uid).optional() }),
  verifyProgress: incidentOfJob,
  awaitCheckpoint: incidentOfJob,
  observeCapacity: z.looseObject({ job: jobRef, pods: z.array(uid).optional() }),
  joinWave: z.looseObject({ incident: id, job: jobRef, pod: name.optional() }),
  takeStandbyNodes: z.looseObject({ incident: id, nodes: z.array(name) }),
  resizeJob: incidentOfJob,
  askProcesses: z.looseObject({ incident: id, job: jobRef, attempt }),
  captureEvidence: z.looseObject({
    incident: id,
    attempt,
    job: jobRef,
    pods: z.array(pod),
    nodes: z.array(name),
    kernel: z.array(z.looseObject({ node: name })).optional(),
  }),
  removeRecoveryLabel: ofJob,
  notifyNodes: z.looseObject({ faults }),
  observeWorkload: z.looseObject({ workload }),
  noteVerdict: ofJob,
  deliverNotification: anything,
  announce: z.looseObject({ events: z.array(z.looseObject({ about })) }),
  recordIncident: ofIncident,
  findRecoveries: ofJob,
  lookAtRecovery: ofIncident,
  notifyWaiting: z.looseObject({ workflowIds: z.array(id) }),
} satisfies Record<keyof Activities, z.ZodType>;

function isId(text: string): boolean {
  return /^[\w./:-]{1,500}$/.test(text) && text.split('/').every((part) => !/^\.*$/.test(part));
}

/** Why an activity of this name may not run with this argument, or undefined. */
export function whyNotGiven(activity: string, given: unknown): string | undefined {
  const schema = Object.entries(activityArguments).find(([each]) => each === activity)?.[1];
  const issue = schema?.safeParse(given).error?.issues[0];
  return issue && `${activity}: ${issue.path.join('.') || 'its argument'} ${issue.message}`;
}

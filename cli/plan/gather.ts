/** Reads the input of a plan: job, pods and nodes as the worker reads them, and the state of the workflows. */

import type { Client } from '@temporalio/client';
import { KcoverError } from '../../contract/errors.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import type { JobView } from '../../contract/job/jobs.ts';
import type { NodeView } from '../../contract/node/nodes.ts';
import type { AttemptFacts } from '../../contract/recovery/recovery.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { readJob } from '../../kube/jobs/jobs.ts';
import { nodeView, readNode } from '../../kube/nodes/nodes.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { podsOfJob } from '../../kube/pods/pods.ts';
import { decides } from '../../policy/incident/pod-watch.ts';
import { nodesOf } from '../../workflows/faults.ts';
import type { Session } from '../clients/session.ts';
import { type KnownFacts, nothingKnown, type PlanInput } from './facts.ts';
import { type HypotheticalFault, hypotheticalFault } from './hypothetical.ts';
import { readFound, readHolds, readKnown } from './known.ts';
import { withCapacity } from './capacity.ts';

/** The request of the command line. */
export interface PlanRequest {
  /** The job as it was found by its name. */
  readonly job: JobView;
  readonly fault?: Pick<HypotheticalFault, 'code' | 'node' | 'pod' | 'by'> | undefined;
  readonly settings: WorkerSettings;
  /** The settings in the form of their file. */
  readonly written: unknown;
  readonly now: number;
}

/** Throws when Kubernetes does not answer. When Temporal does not, `unseen` says what is missing. */
export async function gatherFacts(
  session: Session,
  { job: { ref }, fault, settings, written, now }: PlanRequest,
): Promise<PlanInput> {
  const kube = await session.kube();
  const { taint } = settings.quarantine;
  const at = new Date(now).toISOString();
  const [job, { present: pods, terminating, oldestAt, succeeded }] = await Promise.all([
    readJob(kube, ref, taint),
    podsOfJob(kube, ref),
  ]);
  if (!job)
    throw new KcoverError('not-found', `${ref.name} was deleted a moment ago`, { what: 'there is no such job' });
  const hypothetical = fault && hypotheticalFault({ ...fault, job: ref, pods, at });

  const history = await askedOf(session, (client) => readKnown(client, ref));
  const before = history.answer ?? nothingKnown;
  const faults = [...before.fresh, ...(hypothetical ? [hypothetical] : [])];
  const behind = before.open ? undefined : (await askedOf(session, (client) => readFound(client, faults))).answer;
  const known = { ...before, ...(behind && behind.found.length > 0 && { found: behind.found }) };
  const nodes = await readNodes(kube, [...faults, ...known.handled], taint);
  if (hypothetical?.node !== undefined && !nodes.some(({ name }) => name === hypothetical.node))
    throw new KcoverError('not-found', `there is no node ${hypothetical.node}`, {
      what: 'there is no such node',
      remedy: 'kubectl get nodes',
    });
  const open = nodes.filter(({ taint: its }) => !its).map(({ name }) => name);
  const permission = await askedOf(session, (client) => readHolds(client, open));
  const decided = succeeded.find((pod) => decides(job, pod));
  const attempt: PlanInput['attempt'] = {
    job,
    ...(decided && { succeeded: decided.name }),
    pods,
    ...(oldestAt !== undefined && { oldestPodAt: oldestAt }),
    ...(terminating.length > 0 && { terminating }),
    nodes,
    ...(permission.answer ?? { undecided: [] }),
  };
  const facts: PlanInput = {
    schema: 1,
    at,
    settings: written,
    attempt,
    known,
    ...(hypothetical && { hypothetical }),
    unseen: unseenOf(history, permission, behind?.unanswered),
  };
  return withCapacity(kube, facts, settings);
}

interface QueryResult<T> {
  readonly answer?: T | undefined;
  readonly failure?: KcoverError;
}

/** The answer, or the error when Temporal does not answer. */
async function askedOf<T>(session: Session, ask: (client: Client) => Promise<T>): Promise<QueryResult<T>> {
  try {
    return { answer: await ask(await session.temporal()) };
  } catch (error) {
    if (error instanceof KcoverError && error.code.startsWith('temporal.')) return { failure: error };
    throw error;
  }
}

function unseenOf(
  history: QueryResult<KnownFacts | undefined>,
  permission: QueryResult<Pick<AttemptFacts, 'paused' | 'undecided'>>,
  unanswered: readonly string[] = [],
): string[] {
  const because = (history.failure ?? permission.failure)?.because;
  return [
    ...(history.failure ? [`pending faults and used budget: ${because}`] : []),
    ...(permission.failure ? [`whether kcover is paused: ${because}`] : []),
    ...(!history.failure && history.answer === undefined
      ? ['the job has no workflow: no fault is pending and no budget was used']
      : []),
    ...unanswered.map((node) => `faults of ${node}, on which a pod failed: its workflow does not answer`),
  ];
}

async function readNodes(
  kube: Kube,
  faults: readonly Fault[],
  taint: WorkerSettings['quarantine']['taint'],
): Promise<readonly NodeView[]> {
  const found = await inParallel(nodesOf(faults), (name) => readNode(kube, name));
  return found.flatMap((node) => (node ? [nodeView(node, taint)] : []));
}

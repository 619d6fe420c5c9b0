/** Simulates the preflight containers of a job: they measure, write their report files on their nodes, and exit. */

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { labels } from '../contract/ids.ts';
import { preflightContainer, preflightDirectory } from '../contract/preflight/preflight.ts';
import { type Api, strategicMerge } from './api.ts';
import { podsOf, type RunningJob } from './jobs.ts';
import type { SimulatedNode } from './nodes.ts';
import { measure, passed, type RawReport, type Tested, type MeasureTruth } from './preflight-measures.ts';
import { until } from './until.ts';

/** For a job whose pods test their nodes first. */
export const testsFirst = { podLabels: { [labels.preflight]: 'true' }, initContainers: [preflightContainer] } as const;

/** One pod with a running preflight container. */
export interface Tester extends Tested {
  readonly pod: V1Pod;
  readonly rank: number;
  /** The root directory of its node. */
  readonly hostRoot: string;
}

/** Waits until the preflight containers of all pods of the job run, and returns them by rank. Pods in `except`, by UID, do not count. */
export function awaitTesters(
  api: Api,
  nodes: readonly SimulatedNode[],
  job: RunningJob,
  except: ReadonlySet<string> = new Set(),
): Promise<Tester[]> {
  return until(`${job.kind} ${job.namespace}/${job.name} tests its nodes`, 120_000, async () => {
    const pods = (await podsOf(api, job)).filter(
      ({ metadata }) => metadata?.deletionTimestamp === undefined && !except.has(metadata?.uid ?? ''),
    );
    const testing = pods.filter(
      (pod) => statusOf(pod)?.state?.running !== undefined && pod.status?.podIP !== undefined,
    );
    if (testing.length !== job.pods) return { missing: `${testing.length} of ${job.pods} preflight containers run` };
    const leads = testing.some((pod) => roleOf(pod) !== 'worker');
    const testers = testing.map((pod): Tester => {
      const node = pod.spec?.nodeName ?? '';
      const hostRoot = nodes.find(({ name }) => name === node)?.hostRoot ?? '';
      return { pod, rank: rankOf(pod, leads), node, hostRoot, address: pod.status?.podIP ?? '' };
    });
    return { found: testers.toSorted((a, b) => a.rank - b.rank) };
  });
}

/** The simulated measurements, by rank. */
export const measured = (job: RunningJob, testers: readonly Tester[], truth?: MeasureTruth): RawReport[] =>
  measure(job.name, testers, truth);

/** Writes a report atomically where the container of this tester would. */
export async function writeReport(
  job: Pick<RunningJob, 'namespace' | 'name'>,
  { hostRoot, rank }: Pick<Tester, 'hostRoot' | 'rank'>,
  report: RawReport | string,
): Promise<void> {
  const directory = join(hostRoot, preflightDirectory, job.namespace);
  await mkdir(directory, { recursive: true });
  const file = join(directory, `${job.name}-${rank}.json`);
  await writeFile(`${file}.part`, typeof report === 'string' ? report : JSON.stringify(report));
  await rename(`${file}.part`, file);
}

/** Ends its preflight container; with exit code 0 the pod goes on to run. */
export const endTest = (api: Api, tester: Pick<Tester, 'pod'>, exitCode: number): Promise<void> =>
  changeTest(api, tester, (status) => ({
    ready: exitCode === 0,
    started: false,
    state: { terminated: exit(status, exitCode) },
  }));

/** A failed preflight container is restarted in its pod, as under a kubelet with restart policy OnFailure. */
export const testAgain = (api: Api, tester: Pick<Tester, 'pod'>): Promise<void> =>
  changeTest(api, tester, ({ state, restartCount }) => ({
    started: true,
    restartCount: restartCount + 1,
    lastState: state ?? {},
    state: { running: { startedAt: new Date() } },
  }));

async function changeTest(
  api: Api,
  { pod }: Pick<Tester, 'pod'>,
  change: (status: V1ContainerStatus) => Partial<V1ContainerStatus>,
): Promise<void> {
  const { name = '', namespace = '', uid } = pod.metadata ?? {};
  const { status: now } = await api.core.readNamespacedPod({ name, namespace });
  const initContainerStatuses = (now?.initContainerStatuses ?? []).map((status): V1ContainerStatus =>
    status.name === preflightContainer ? Object.assign({}, status, change(status)) : status,
  );
  await api.core.patchNamespacedPodStatus(
    { name, namespace, body: { metadata: { uid }, status: { initContainerStatuses } } },
    strategicMerge,
  );
}

/** Writes all reports, then ends the containers. Returns the measurements, by rank. */
export async function playPreflight(
  api: Api,
  nodes: readonly SimulatedNode[],
  job: RunningJob,
  truth: MeasureTruth = {},
  except?: ReadonlySet<string>,
): Promise<Played> {
  const testers = await awaitTesters(api, nodes, job, except);
  const reports = measured(job, testers, truth);
  await leave(api, job, testers, reports);
  return { testers, reports };
}

export interface Played {
  readonly testers: readonly Tester[];
  readonly reports: readonly RawReport[];
}

/** Each tester writes its report, and its container ends. */
export async function leave(
  api: Api,
  job: RunningJob,
  testers: readonly Tester[],
  reports: readonly RawReport[],
): Promise<void> {
  await Promise.all(
    testers.map(async (tester) => {
      const report = reports.find(({ rank }) => rank === tester.rank);
      if (!report) return;
      await writeReport(job, tester, report);
      await endTest(api, tester, passed(report) ? 0 : 1);
    }),
  );
}

const statusOf = ({ status }: V1Pod): V1ContainerStatus | undefined =>
  status?.initContainerStatuses?.find(({ name }) => name === preflightContainer);
const roleOf = ({ metadata }: V1Pod): string => metadata?.labels?.['training.kubeflow.org/replica-type'] ?? 'worker';

/** The leader has rank 0, worker i has i + 1; a pod of an Indexed job has its index. */
function rankOf(pod: V1Pod, leads: boolean): number {
  const index =
    pod.metadata?.labels?.['training.kubeflow.org/replica-index'] ??
    pod.metadata?.annotations?.['batch.kubernetes.io/job-completion-index'] ??
    '0';
  return Number(index) + (leads && roleOf(pod) === 'worker' ? 1 : 0);
}

function exit(
  { state, containerID }: V1ContainerStatus,
  exitCode: number,
): NonNullable<NonNullable<V1ContainerStatus['state']>['terminated']> {
  const startedAt = state?.running?.startedAt;
  return {
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    finishedAt: new Date(),
    ...(startedAt !== undefined && { startedAt }),
    ...(containerID !== undefined && { containerID }),
  };
}

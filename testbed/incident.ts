import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CoreV1Event, KubernetesObject, V1Node, V1Pod } from '@kubernetes/client-node';
import { Client, Connection } from '@temporalio/client';
import { annotations } from '../contract/ids.ts';
import { traitsOf } from '../contract/faults/sources.ts';
import { jobTitle } from '../contract/job/jobs.ts';
import type { NodeRecord } from '../contract/node/nodes.ts';
import type { IncidentRecord, TimelineEntry } from '../contract/recovery/recovery.ts';
import { connectKube } from '../kube/client/connection.ts';
import { watchResource } from '../kube/client/watch.ts';
import { placeOf, type RunningJob, sizeOf } from './jobs.ts';
import type { Kcover } from './roles.ts';
import { type WaitResult, until } from './until.ts';
import type { TestCluster } from './test-cluster.ts';

type AttemptPods = Readonly<Record<string, { readonly uid: string; readonly node: string }>>;

/** What an observer saw of one incident. Times in ms by the clock of this machine, as the watches reported them. */
export interface ObservedIncident {
  readonly outcome: string;
  readonly job: string;
  readonly incident: string;
  readonly because: string;
  readonly attemptBefore: AttemptPods;
  readonly attemptAfter: AttemptPods;
  /** Absent where no node was quarantined. */
  readonly reportToQuarantinedMs?: number;
  readonly quarantinedToRunningMs?: number;
  readonly timeline: readonly TimelineEntry[];
}

export interface IncidentWatch {
  happened(what: string): void;
  /** Waits for the record of the incident; two minutes by default. */
  ended(withinMs?: number): Promise<ObservedIncident>;
}

/** Watches nodes, pods and kcover's Events from outside, printing each as it is seen. */
export async function watchIncident(
  cluster: TestCluster,
  kcover: Kcover,
  job: RunningJob,
  before: readonly V1Pod[],
  print: (line: string) => void,
): Promise<IncidentWatch> {
  const kube = connectKube({ kubeconfig: cluster.kubernetes.kubeconfig });
  const stop = new AbortController();
  const timeline: TimelineEntry[] = [];
  const old = new Set(before.map((pod) => pod.metadata?.uid));
  const gone = new Set<string | undefined>();
  const after = new Map<string, { uid: string; node: string }>();
  const since = Date.now();
  let size = before.length;
  let quarantinedAt = 0;
  let runningAt = 0;

  const happened = (what: string): void => {
    const at = Date.now();
    timeline.push({ at: new Date(at).toISOString(), what });
    print(`  +${String(at - since).padStart(5)} ms  ${what}`);
  };
  const seeWhole = (): void => {
    if (after.size < size || runningAt > 0) return;
    runningAt = Date.now();
    happened(`all ${size} pods of the new attempt run, on ${[...after.values()].map((pod) => pod.node).join(', ')}`);
  };
  const reported = new Set<string>();
  const { group, version, plural } = placeOf(job);
  const common = { kube, signal: stop.signal };
  const watches = [
    watchResource<V1Node>({
      ...common,
      path: '/api/v1/nodes',
      onEvent: ({ object }) => {
        const incident = object.metadata?.annotations?.[annotations.quarantineIncident];
        if (incident === undefined || quarantinedAt > 0) return;
        quarantinedAt = Date.now();
        happened(
          `node ${object.metadata?.name} is quarantined: ${object.spec?.taints?.map((taint) => `${taint.key}=${taint.value}:${taint.effect}`).join(', ')}`,
        );
      },
    }),
    watchResource<V1Pod>({
      ...common,
      path: `/api/v1/namespaces/${job.namespace}/pods`,
      labelSelector: job.selector,
      onEvent: ({ type, object: { metadata, spec, status } }) => {
        if (old.has(metadata?.uid)) {
          if (type !== 'deleted' || gone.has(metadata?.uid)) return;
          gone.add(metadata?.uid);
          if (gone.size === old.size) happened('all pods of the old attempt are gone');
        } else if (type === 'deleted' || metadata?.deletionTimestamp !== undefined) {
          // The job's own operator may have recreated one pod before the whole attempt was stopped.
          if (after.get(metadata?.name ?? '')?.uid === metadata?.uid) after.delete(metadata?.name ?? '');
        } else if (status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True')) {
          after.set(metadata?.name ?? '', { uid: metadata?.uid ?? '', node: spec?.nodeName ?? '' });
          seeWhole();
        }
      },
    }),
    watchResource<KubernetesObject>({
      ...common,
      path: `/apis/${group}/${version}/namespaces/${job.namespace}/${plural}`,
      fieldSelector: `metadata.name=${job.name}`,
      onEvent: ({ object }) => {
        const now = sizeOf(job, object);
        if (now === size) return;
        happened(`${jobTitle(job)} has ${now} pods from now on, it had ${size}`);
        size = now;
        seeWhole();
      },
    }),
    watchResource<CoreV1Event>({
      ...common,
      path: '/api/v1/events',
      onEvent: ({ type, object }) => {
        if (type !== 'added' || object.source?.component !== 'kcover' || reported.has(object.metadata.uid ?? ''))
          return;
        reported.add(object.metadata.uid ?? '');
        happened(`Event ${object.reason}: ${object.message}`);
      },
    }),
  ];
  await Promise.all(watches.map((each) => each.synced));

  return {
    happened,
    ended: async (withinMs = 120_000) => {
      const record = await until('the record of the incident', withinMs, () => readRecord(kcover, job));
      await until('the last pod and Event', 10_000, () =>
        Promise.resolve(
          runningAt > 0 || (record.outcome !== 'restarted' && record.outcome !== 'recovered')
            ? { found: true }
            : { missing: 'pods' },
        ),
      );
      stop.abort();
      await kube.close();
      const node = record.faults.find(({ source }) => traitsOf(source).about === 'node')?.node ?? '';
      const reportedAt = node === '' ? quarantinedAt : await acceptedAt(cluster, node);
      return {
        outcome: record.outcome,
        job: `${job.namespace}/${job.name}`,
        incident: record.incident,
        because: record.decisions.find((decision) => decision.kind === 'stop')?.because ?? record.because,
        attemptBefore: Object.fromEntries(
          before.map((pod) => [
            pod.metadata?.name ?? '',
            { uid: pod.metadata?.uid ?? '', node: pod.spec?.nodeName ?? '' },
          ]),
        ),
        attemptAfter: Object.fromEntries([...after].toSorted(([a], [b]) => a.localeCompare(b))),
        ...(quarantinedAt > 0 && {
          reportToQuarantinedMs: quarantinedAt - reportedAt,
          quarantinedToRunningMs: runningAt - quarantinedAt,
        }),
        timeline,
      };
    },
  };
}

/** Looks for the record of an incident of this job. */
export async function readRecord(
  { records: directory }: Pick<Kcover, 'records'>,
  job: RunningJob,
): Promise<WaitResult<IncidentRecord>> {
  for (const name of await readdir(directory)) {
    if (!name.endsWith('.json')) continue;
    const record = JSON.parse(await readFile(join(directory, name), 'utf8')) as
      | IncidentRecord
      | (NodeRecord & { job?: undefined });
    if (record.job !== undefined && record.job.uid === job.uid) return { found: record };
  }
  return { missing: `no record in ${directory}` };
}

/** When Temporal accepted the report: the first signal of the node's workflow. */
async function acceptedAt(cluster: TestCluster, node: string): Promise<number> {
  const connection = await Connection.connect({ address: cluster.temporal.address });
  try {
    const history = await new Client({ connection, namespace: cluster.temporal.namespace }).workflow
      .getHandle(`node/${node}`)
      .fetchHistory();
    const time = history.events?.find((event) => event.workflowExecutionSignaledEventAttributes)?.eventTime;
    return Number(time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6;
  } finally {
    await connection.close();
  }
}

/** Invariants after any incident, whatever was killed meanwhile: checked by UID from the audit log, a watch and the records. Pure. */

import { annotations } from '../../contract/ids.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { deletesOfPods, podDeleteCollections, podDeletes, suspends, type Write } from '../../testbed/audit.ts';
import type { RunningJob } from '../../testbed/jobs.ts';
import type { PodLife, QuarantineSpan } from './cluster-recorder.ts';

export interface RunFacts {
  readonly job: RunningJob;
  /** Every pod that the job ever had. */
  readonly pods: readonly PodLife[];
  readonly quarantines: readonly QuarantineSpan[];
  /** Writes of kcover's own accounts since the scenario began. */
  readonly writes: readonly Write[];
  readonly records: readonly IncidentRecord[];
  /** Ids of the recoveries that the workflow of the job started. */
  readonly recoveries: readonly string[];
  readonly suspended: boolean;
  /**
   * Pods that nothing but a kubelet deleted: another client evicted them, or the simulated kubelet, which deletes by name and sometimes twice, hit the
   * next pod of that name.
   */
  readonly deletedByKubelet: ReadonlySet<string>;
}

/** Broken invariants, one sentence each; empty when all hold. */
export function violations(facts: RunFacts): string[] {
  return [
    ...stopsOncePerAttempt(facts),
    ...deletesOnlyWhatItStopped(facts),
    ...runsAgain(facts),
    ...oneRecordEach(facts),
    ...provedWhatItSays(facts),
  ];
}

export const ourWrites = (writes: readonly Write[]): Write[] =>
  writes.filter(({ user }) => user.startsWith('system:serviceaccount:kcover-system:kcover-'));

/** UIDs that only a kubelet deleted. */
export function deletedByKubelet(writes: readonly Write[]): Set<string> {
  const [byKubelets = [], byOthers = []] = [true, false].map((is) => [
    ...deletesOfPods(writes.filter(({ user }) => isKubelet(user) === is)).keys(),
  ]);
  const others = new Set(byOthers);
  return new Set(byKubelets.filter((uid) => !others.has(uid)));
}

const isKubelet = (user: string): boolean => user === 'kwok' || user.startsWith('system:node:');

/** Effective suspends of the job, each with its annotation. */
export const suspendsOf = ({ job, writes }: Pick<RunFacts, 'job' | 'writes'>): string[] =>
  suspends(writes)
    .filter(
      ({ namespace, name, suspend, code }) => namespace === job.namespace && name === job.name && suspend && code < 300,
    )
    .map(
      ({ body }) =>
        (body as { metadata?: { annotations?: Record<string, string> } }).metadata?.annotations?.[
          annotations.suspendedBy
        ] ?? 'no mark',
    );

function stopsOncePerAttempt(facts: RunFacts): string[] {
  const { records, writes, pods } = facts;
  const suspensions = suspendsOf(facts);
  const recorded = records.flatMap(({ incident, stops }) =>
    stops.map((stop) => ({ ...stop, suspension: `${incident}#${stop.attempt}` })),
  );
  const collections = podDeleteCollections(writes).filter(({ code }) => code < 300);
  const uidsOfJob = new Set(pods.map(({ uid }) => uid));
  return [
    ...repeated(suspensions).map((suspension) => `suspended twice as ${suspension}`),
    ...suspensions
      .filter((suspension) => !recorded.some((stop) => stop.suspension === suspension))
      .map((suspension) => `suspended as ${suspension}, which no record holds`),
    ...repeated(recorded.flatMap((stop) => stop.pods.map(({ uid }) => uid))).map((uid) => `two stops had pod ${uid}`),
    ...recorded.filter((stop) => stop.pods.length === 0).map((stop) => `${stop.suspension} stopped nothing`),
    ...recorded.flatMap((stop) => {
      const hits = collections.filter(({ deleted }) => deleted.some((uid) => stop.pods.some((pod) => pod.uid === uid)));
      return hits.length > 1 ? [`${hits.length} delete-collections hit ${stop.suspension}`] : [];
    }),
    ...collections.flatMap(({ deleted }) => {
      const own = deleted.filter((uid) => uidsOfJob.has(uid));
      return own.length > 0 && own.length < deleted.length
        ? [`a delete-collection took ${deleted.length - own.length} pods of others along`]
        : [];
    }),
  ];
}

function deletesOnlyWhatItStopped({ pods, writes, records, quarantines, deletedByKubelet }: RunFacts): string[] {
  const counts = deletesOfPods(writes.filter(({ code }) => code < 300));
  const singly = new Set(podDeletes(writes).flatMap(({ deleted }) => deleted));
  const stopped = new Set(records.flatMap(({ stops }) => stops.flatMap((stop) => stop.pods.map(({ uid }) => uid))));
  // A pod that did not end after its delete is deleted once more, by force, and the record says so.
  const forced = new Set(
    records.flatMap(({ forced: all = [], stops }) =>
      [...all, ...stops.flatMap((stop) => stop.forced ?? [])].map(({ uid }) => uid),
    ),
  );
  const moved = (pod: PodLife): boolean =>
    singly.has(pod.uid) &&
    quarantines.some(
      (span) => span.node === pod.node && span.from < (pod.gone ?? Infinity) && (span.to ?? Infinity) > pod.created,
    );
  return pods.flatMap((pod) => [
    ...((counts.get(pod.uid) ?? 0) > (forced.has(pod.uid) ? 2 : 1)
      ? [`deleted pod ${pod.name} ${pod.uid} ${counts.get(pod.uid)} times`]
      : []),
    ...(counts.has(pod.uid) && !stopped.has(pod.uid) && !moved(pod)
      ? [`deleted pod ${pod.name} ${pod.uid} that no stop had`]
      : []),
    ...(pod.gone !== undefined && !pod.failed && !deletedByKubelet.has(pod.uid) && !stopped.has(pod.uid) && !moved(pod)
      ? [`pod ${pod.name} ${pod.uid} on ${pod.node ?? 'no node'} went and no stop had it`]
      : []),
  ]);
}

/** Its original number, or the one after the last recovery that resized it. */
const podsIn = ({ job, records }: RunFacts): number =>
  records.findLast(({ pods }) => pods !== undefined)?.pods?.after ?? job.pods;

function runsAgain(facts: RunFacts): string[] {
  const { pods, quarantines, suspended } = facts;
  const expected = podsIn(facts);
  const running = pods.filter(({ gone }) => gone === undefined);
  const ready = running.filter(({ ready: is }) => is);
  const out = new Set(quarantines.filter(({ to }) => to === undefined).map(({ node }) => node));
  return [
    ...(suspended ? ['the job is suspended'] : []),
    ...(running.length === expected && ready.length === expected
      ? []
      : [`${running.length} pods are there and ${ready.length} ready, of ${expected}`]),
    ...running
      .filter(({ node }) => node !== undefined && out.has(node))
      .map(({ name, node }) => `pod ${name} runs on ${node}, which is quarantined`),
  ];
}

function oneRecordEach({ records, recoveries }: RunFacts): string[] {
  const known = new Set<string>();
  const unexplained = records.flatMap(({ incident, stops, faults }) => {
    const fresh = faults.filter(({ id }) => !known.has(id));
    for (const { id } of faults) known.add(id);
    return stops.length > 0 && fresh.length === 0
      ? [`${incident} stopped the job again for faults that were answered before`]
      : [];
  });
  return [
    ...repeated(records.map(({ incident }) => incident)).map((incident) => `${incident} has two records`),
    ...recoveries.filter((id) => !records.some(({ incident }) => incident === id)).map((id) => `${id} has no record`),
    ...records
      .filter(({ incident }) => !recoveries.includes(incident))
      .map(({ incident }) => `${incident} is recorded and was never started`),
    ...unexplained,
  ];
}

/** `recovered` requires training beyond the last step before the fault, in reports after the last stop. */
function provedWhatItSays({ records, writes }: RunFacts): string[] {
  return records.flatMap(({ incident, outcome, progress, stops }) => {
    if (outcome !== 'recovered') return [];
    const { before, after } = progress ?? {};
    const proved =
      before !== undefined &&
      after !== undefined &&
      after.step > before.step &&
      Date.parse(after.at) >= stoppedAt(stops.at(-1), writes);
    return proved ? [] : [`${incident} says recovered, from ${JSON.stringify(before)} to ${JSON.stringify(after)}`];
  });
}

/**
 * When the old attempt ceased to be complete, ms. A stop ends when a worker observes it, and only a suspend holds the next attempt back until then:
 * after deletions that attempt may have trained while the worker was down, so the time of the deletions counts.
 */
function stoppedAt(stop: IncidentRecord['stops'][number] | undefined, writes: readonly Write[]): number {
  if (!stop) return 0;
  const uids = new Set(stop.pods.map(({ uid }) => uid));
  const deleted = writes
    .filter((write) => write.code < 300 && write.deleted.some((uid) => uids.has(uid)))
    .map(({ at }) => at.getTime());
  return stop.by === 'suspend' || deleted.length === 0 ? Date.parse(stop.at) : Math.max(...deleted);
}

const repeated = (texts: readonly string[]): string[] => [
  ...new Set(texts.filter((text, index) => texts.indexOf(text) !== index)),
];

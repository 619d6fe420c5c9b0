/** Invariants at the end of a scenario of many faults, in whatever combination. Pure. */

import type { Fault } from '../../contract/faults/faults.ts';
import { trainingHangs } from '../../contract/faults/faults.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import type { Interleaving } from './interleaving.ts';

/** Broken invariants, one sentence each; empty when all hold. */
export function violations(run: Interleaving): string[] {
  return [
    ...run.cluster.wrong,
    ...noFaultLost(run),
    ...noPodStoppedTwice(run),
    ...noPodLeft(run),
    ...asRecorded(run),
    ...noNeedlessStop(run),
  ];
}

const has = ({ faults }: IncidentRecord, { id }: Fault): boolean => faults.some((fault) => fault.id === id);

/** A person was notified, or has denied: the fault was not lost. */
const isWithPerson = ({ outcome }: IncidentRecord): boolean => outcome === 'refused' || outcome === 'escalated';

function noFaultLost({ faults, cluster, left }: Interleaving): string[] {
  const { records, dismissed } = cluster;
  return faults.flatMap((fault) => {
    const own = records.filter((record) => has(record, fault));
    if (own.length === 0 && !dismissed.includes(fault.id))
      return [`${fault.id} is in no record, and was not dismissed`];
    const isThere = fault.pod !== undefined && left.some(({ uid }) => uid === fault.pod?.uid);
    const inPlace = own.some(({ because }) => because.includes('by themselves'));
    return isThere && !inPlace && !own.some(isWithPerson)
      ? [`${fault.id}: that pod is still there, and no person was notified`]
      : [];
  });
}

function noPodStoppedTwice({ cluster }: Interleaving): string[] {
  return [
    ...repeated(cluster.stops.flatMap(({ uids }) => uids)).map((uid) => `two stops had pod ${uid}`),
    ...repeated(cluster.graceful).map((uid) => `pod ${uid} was asked to go twice`),
    ...repeated(cluster.forced).map((uid) => `pod ${uid} was deleted by force twice`),
    ...(cluster.suspends === cluster.resumes
      ? []
      : [`suspended ${cluster.suspends} times, resumed ${cluster.resumes} times`]),
  ];
}

function noPodLeft({ cluster, left, faults }: Interleaving): string[] {
  return left
    .filter(({ node }) => cluster.nodes.get(node ?? '')?.taint)
    .filter(
      ({ node }) =>
        !cluster.records.some(
          (record) => isWithPerson(record) && faults.some((fault) => fault.node === node && has(record, fault)),
        ),
    )
    .map(({ name, node }) => `${name} is left on ${node}, which is quarantined`);
}

function asRecorded({ cluster }: Interleaving): string[] {
  const name = ({ incident, attempt, uids }: { incident: string; attempt: number; uids: readonly string[] }) =>
    `${incident}#${attempt} ${uids.toSorted().join(' ')}`;
  const recorded = cluster.records.flatMap(({ incident, stops }) =>
    stops.map(({ attempt, pods }) => name({ incident, attempt, uids: pods.map(({ uid }) => uid) })),
  );
  const done = cluster.stops.map(name);
  return [
    ...repeated(cluster.records.map(({ incident }) => incident)).map((incident) => `${incident} has two records`),
    ...recorded.filter((stop) => !done.includes(stop)).map((stop) => `recorded, and never done: ${stop}`),
    ...done.filter((stop) => !recorded.includes(stop)).map((stop) => `done, and in no record: ${stop}`),
  ];
}

/** Each stop needs a fault of its own attempt, the request of a person, or an earlier level that did not help. */
function noNeedlessStop({ cluster }: Interleaving): string[] {
  return cluster.records.flatMap(({ incident, stops, faults, timeline }) => {
    const others =
      faults.filter(({ source, code }) => source === 'operator' || code === trainingHangs).length +
      timeline.filter(({ what }) => what === 'the whole job next').length;
    const needless = stops.filter(
      ({ pods }) =>
        !faults.some((fault) => pods.some((pod) => (fault.pod ? fault.pod.uid === pod.uid : fault.node === pod.node))),
    );
    return needless.length > others
      ? [
          `${incident} stopped ${needless.map(({ attempt }) => `attempt ${attempt}`).join(', ')} for nothing that it had seen of it`,
        ]
      : [];
  });
}

const repeated = (texts: readonly string[]): string[] => [
  ...new Set(texts.filter((text, index) => texts.indexOf(text) !== index)),
];

/** From lines of pods in Loki to faults of their jobs. A tenant writes them, so no fault repeats their text. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';
import type { LokiLine } from './answer.ts';
import type { LineResult } from './lines.ts';

export type PodQuery = ControllerSettings['loki']['podQueries'][number];

export interface LoggingPod {
  /** Its job is the one that kcover looks after: the controlling one, or its owner. */
  readonly pod: TrainingPod;
  readonly optedIn: boolean;
}

/** The pod that has this name now, or had it until recently. */
export type PodNamed = (namespace: string, name: string) => LoggingPod | undefined;

/** Container times are whole seconds, ms. */
const slackMs = 1000;
const hourMs = 3_600_000;

/** The pod must be the one that wrote the line: some kinds of jobs give the names of old pods to new ones. */
export function podLineOf(line: LokiLine, query: PodQuery, podNamed: PodNamed): LineResult {
  const { labels } = line;
  const found = podNamed(labels[query.namespaceLabel] ?? '', labels[query.podLabel] ?? '');
  if (!found) return { kind: 'no-pod' };
  const { pod, optedIn } = found;
  const at = Number(line.at / 1_000_000n);
  const uid = labels[query.uidLabel];
  const isOfAnother = uid === undefined ? isBefore(pod, at) : uid !== pod.uid;
  if (isOfAnother) return { kind: 'other-pod' };
  if (!optedIn) return { kind: 'not-opted-in' };
  return { kind: 'fault', fault: faultOf(query, pod, at), to: { kind: 'job', job: pod.job } };
}

const isBefore = ({ startedAt, createdAt }: TrainingPod, at: number): boolean =>
  at < Date.parse(startedAt ?? createdAt) - slackMs;

/** One for each pod where it restarts the job. Where it only leads to an Event, one an hour for the whole job. */
function faultOf({ name, restart }: PodQuery, pod: TrainingPod, at: number): Fault {
  const id = restart ? pod.uid : `${pod.job.uid}/${Math.floor(at / hourMs)}`;
  return {
    id: `pod-log/${name}/${id}`,
    source: 'pod-log',
    code: `pod-log/${name}`,
    message: `the query ${name} of Loki selects a line of ${pod.name}`,
    seenAt: new Date(at).toISOString(),
    node: pod.node,
    pod: { name: pod.name, uid: pod.uid, createdAt: pod.createdAt },
    ...(restart && { action: 'restart-app' }),
  };
}

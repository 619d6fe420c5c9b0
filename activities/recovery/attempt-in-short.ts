/** A look at a large attempt, reduced to what decisions need, because each look stands in history. */

import { createHash } from 'node:crypto';
import type { AttemptPod } from '../../contract/job/jobs.ts';
import type { AttemptFacts } from '../../contract/recovery/recovery.ts';

/** Attempts of more pods are reduced. */
const mostPods = 200;

interface Whole {
  readonly pods: readonly AttemptPod[];
  readonly terminating: readonly AttemptPod[];
}

/** What a decision is about: blamed nodes, and UIDs of pods that faults name. */
interface AttemptFilter {
  readonly nodes: readonly string[];
  readonly pods?: readonly string[];
}

/** All pods of a small attempt. Of a large one those that match, and the first pod, which leads the others. */
export function attemptInShort(
  { pods, terminating }: Whole,
  about: AttemptFilter,
): Pick<AttemptFacts, 'pods' | 'terminating' | 'more'> {
  const all = pods.length + terminating.length;
  if (all <= mostPods) return { pods, ...(terminating.length > 0 && { terminating }) };
  const [nodes, uids] = [new Set(about.nodes), new Set(about.pods)];
  const isMeant = (pod: AttemptPod) => uids.has(pod.uid) || (pod.node !== undefined && nodes.has(pod.node));
  const present = pods.filter((pod, index) => index === 0 || isMeant(pod));
  const going = terminating.filter(isMeant);
  return {
    pods: present,
    ...(going.length > 0 && { terminating: going }),
    more: {
      pods: pods.length - present.length,
      terminating: terminating.length - going.length,
      digest: digestOf(pods),
    },
  };
}

/** SHA-256 in hex, the same for the same pods in any order. Only of pods that are not terminating, because those disappear one by one while an attempt is looked at. */
export function digestOf(pods: readonly AttemptPod[]): string {
  const uids = pods.map(({ uid }) => uid).toSorted();
  return createHash('sha256').update(uids.join('\n')).digest('hex');
}

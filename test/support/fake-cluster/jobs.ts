/** Observes, stops and resumes the job in memory. */

import { randomUUID } from 'node:crypto';
import { digestOf } from '../../../activities/recovery/attempt-in-short.ts';
import { toFailure } from '../../../activities/job/failures.ts';
import { KcoverError } from '../../../contract/errors.ts';
import type { Activities } from '../../../contract/wire/activities.ts';
import type { FakeClusterState } from './state.ts';

type Names =
  | 'observeWorkload'
  | 'noteVerdict'
  | 'observeJob'
  | 'observeAttempt'
  | 'listPods'
  | 'stopAttempt'
  | 'captureEvidence'
  | 'awaitCheckpoint'
  | 'observeCapacity'
  | 'joinWave'
  | 'takeStandbyNodes'
  | 'resizeJob'
  | 'askProcesses'
  | 'verifyProgress'
  | 'resumeJob'
  | 'awaitAttempt'
  | 'removeRecoveryLabel';

export function jobActivities(cluster: FakeClusterState): Pick<Activities, Names> {
  return {
    observeWorkload: async () => cluster.workload,
    noteVerdict: async ({ note }) => {
      cluster.notes.push(note);
    },
    observeJob: () => cluster.readable.then(() => cluster.view),
    observeAttempt: async ({ nodes, pods }) => {
      cluster.looks += 1;
      await cluster.beforeLook?.();
      return cluster.attempt(nodes, pods);
    },
    listPods: async () => ({ pods: cluster.pods, terminating: [], digest: digestOf(cluster.pods) }),
    stopAttempt: async ({ attempt, pods, force, by, immediate }) => {
      if (cluster.unsendable !== undefined) return { kind: 'unsent', because: cluster.unsendable };
      await cluster.stopping();
      if (immediate && !force) {
        cluster.stopped.push({ attempt, uids: pods.map((pod) => pod.uid) });
        return { kind: 'lost', because: 'mode is force', pods };
      }
      if (cluster.podsRemain && !force) {
        cluster.stopped.push({ attempt, uids: pods.map((pod) => pod.uid) });
        return { kind: 'timed-out', because: 'they are still there', left: pods.map((pod) => pod.name) };
      }
      if (by === 'pods') {
        cluster.stopped.push({ attempt, uids: pods.map((pod) => pod.uid) });
        cluster.pods = cluster.pods.map((pod) =>
          pods.some(({ uid }) => uid === pod.uid) ? { ...pod, uid: randomUUID() } : pod,
        );
        return { kind: 'stopped', at: new Date().toISOString(), requests: pods.length };
      }
      const lost = pods.filter((pod) => cluster.dead.has(pod.node ?? ''));
      if (!force) cluster.stopped.push({ attempt, uids: pods.map((pod) => pod.uid) });
      if (!force && lost.length > 0) return { kind: 'lost', because: 'its node stays not ready', pods: lost };
      cluster.pods = [];
      return { kind: 'stopped', at: new Date().toISOString(), requests: 1, ...(force ? { forced: force } : {}) };
    },
    captureEvidence: async ({ attempt, pods }) => {
      if (cluster.storeFails) throw toFailure(new KcoverError('kube.invalid', 'the store is full'));
      cluster.captured.push(attempt);
      return {
        address: `evidence/${attempt}`,
        attempt,
        ranks: pods.length,
        of: pods.length,
        files: pods.length,
        bytes: 100,
        digest: 'd',
        ...(cluster.suspects.length > 0 && { suspects: cluster.suspects }),
      };
    },
    awaitCheckpoint: async (request) => cluster.checkpoint(request),
    observeCapacity: async () => {
      await cluster.beforeCapacityAnswer();
      if (cluster.capacity === 'unseen') throw toFailure(new KcoverError('kube.invalid', 'the nodes cannot be listed'));
      const needed = cluster.view?.podsExpected ?? 0;
      return {
        needed,
        fit: needed,
        fitWithStandby: cluster.capacity.fit ?? needed,
        standbyNodes: [],
        because: 'capacity everywhere',
        sizes: { now: needed, least: 1 },
        ...cluster.capacity,
      };
    },
    joinWave: async (request) => {
      cluster.wavesAsked.push(request);
      return cluster.wave;
    },
    takeStandbyNodes: async ({ nodes }) => {
      cluster.standbyTaken.push(...nodes);
      if (cluster.capacity !== 'unseen')
        cluster.capacity = { ...cluster.capacity, fit: cluster.capacity.fitWithStandby ?? 0 };
      return { taken: nodes };
    },
    resizeJob: async (request) => {
      cluster.resized.push(request);
      const before = cluster.view?.podsExpected ?? 0;
      return { kind: 'resized', before, after: request.pods ?? before };
    },
    askProcesses: async () => void (cluster.asked += 1),
    verifyProgress: async ({ beyond }) => cluster.verified(beyond),
    resumeJob: async () => {
      await cluster.resumable;
      cluster.resumes += 1;
      // As its controller does; a fault of a node that is signalled from now on may concern them.
      if (cluster.pods.length === 0) cluster.place();
      return { resumed: true };
    },
    awaitAttempt: async ({ old }) => {
      if (cluster.pods.length === 0) cluster.place();
      await cluster.gate;
      if (!cluster.view?.optedIn) return { kind: 'ended', outcome: 'cancelled', because: 'the job was opted out' };
      if (cluster.pods.some((pod) => old.includes(pod.uid))) throw new Error('the old attempt was counted');
      return {
        kind: 'running',
        at: new Date().toISOString(),
        pods: cluster.pods,
        startedAt: new Date().toISOString(),
        misplaced: 0,
      };
    },
    removeRecoveryLabel: async () => void (cluster.labelsRemoved += 1),
  };
}

/** Captures the evidence of an attempt before it is stopped. */

import { Context } from '@temporalio/activity';
import { formatDuration } from '../../contract/settings/duration.ts';
import { KcoverError } from '../../contract/errors.ts';
import type { Evidence, EvidenceRequest } from '../../contract/recovery/evidence.ts';
import type { AttemptPod } from '../../contract/job/jobs.ts';
import { redactionPatterns } from '../../faults/redaction/built-in.ts';
import type { RedactionPattern } from '../../faults/redaction/pattern.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { podsOfJob } from '../../kube/pods/pods.ts';
import type { Dependencies } from '../dependencies.ts';
import { EvidenceCollector } from './collector.ts';
import { gatherEvidence } from './gathering.ts';
import { clusterSource, type EvidenceSource } from './source.ts';
import type { EvidenceStore } from './store.ts';
import { reportInHeartbeats } from '../heartbeats.ts';
import { RankLogs } from './suspects.ts';

export async function captureEvidence(
  { kube, settings, evidence: store, log }: Dependencies,
  request: EvidenceRequest,
): Promise<Evidence> {
  const { cancellationSignal } = Context.current();
  const patterns = redactionPatterns(settings.recovery.evidence.redact);
  let kept: EvidenceCollector | undefined;
  const capture = {
    source: clusterSource(kube, request.job),
    store,
    patterns,
    cancelled: cancellationSignal,
    began: (into: EvidenceCollector) => void (kept = into),
  };
  reportInHeartbeats(() => ({ files: kept?.files.length ?? 0 }));
  const pods = request.others ? await withOthers(kube, request).catch(() => request.pods) : request.pods;
  const done = await inTime(capturing(capture, { ...request, pods }), request.deadlineMs + lateMs);
  await store
    .sweep(request.incident, AbortSignal.timeout(sweepMs))
    .catch((error: unknown) => log.warn({ incident: request.incident, error }, 'old evidence was not removed'));
  return done;
}

/** Pods that faults name first, then all others of the attempt. If they cannot be listed, only the former. */
async function withOthers(kube: Kube, { job, pods }: EvidenceRequest): Promise<AttemptPod[]> {
  const { present, terminating } = await podsOfJob(kube, job);
  return [...new Map([...pods, ...terminating, ...present].map((pod) => [pod.uid, pod])).values()];
}

/** Additional time for a store that does not answer, so that it does not hold up a stop, ms. */
const lateMs = 3000;

async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new KcoverError('records.unwritable', `the evidence was not stored within ${formatDuration(ms)}`)),
    ms,
  );
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

/** Time for a sweep, ms: a recovery waits for it, and the next sweep does the rest. */
const sweepMs = 1000;

export interface Capture {
  readonly source: EvidenceSource;
  readonly store: EvidenceStore;
  readonly patterns: readonly RedactionPattern[];
  readonly cancelled: AbortSignal;
  /** Called with the collector. */
  readonly began?: (into: EvidenceCollector) => void;
}

/** Time reserved for the index and pending writes, ms; at most a fifth of the deadline. */
const marginMs = 2000;

/** One log may take a quarter of the time, and at most this, ms. */
const logMs = 5000;

/** Throws `records.unwritable` when nothing can be stored, and the cancellation's error. */
export async function capturing(
  { source, store, patterns, cancelled, began }: Capture,
  request: EvidenceRequest,
): Promise<Evidence> {
  const forLooking = Math.max(request.deadlineMs - marginMs, Math.floor(request.deadlineMs * 0.8));
  const signal = AbortSignal.any([cancelled, AbortSignal.timeout(forLooking)]);
  const draft = await store.open(request.incident, request.attempt);
  try {
    const into = new EvidenceCollector(draft, patterns);
    began?.(into);
    const logs = new RankLogs();
    await gatherEvidence({ request, source, into, signal, logs, logMs: Math.min(logMs, Math.ceil(forLooking / 4)) });
    const because = await into.end();
    cancelled.throwIfAborted();
    const { address, digest } = await draft.close(into.files.toSorted((a, b) => (a.file < b.file ? -1 : 1)));
    const suspects = logs.suspects();
    const ranks = new Set(into.files.flatMap(({ pod }) => pod ?? [])).size;
    return {
      address,
      attempt: request.attempt,
      ranks,
      of: request.pods.length,
      files: into.files.length,
      bytes: into.bytes,
      digest,
      ...(because !== undefined && { because }),
      ...(suspects.length > 0 && { suspects }),
    };
  } finally {
    // After it was closed, there is nothing to discard.
    await draft.discard().catch(() => undefined);
  }
}

/** Waits for something to be seen on a job object alone. */

import type { KubernetesObject } from '@kubernetes/client-node';
import type { JobView } from '../contract/jobs.ts';
import { sightMs, viewIn, type Wait } from './attempts.ts';
import { Bell } from './bell.ts';
import { jobKinds, namespacePath, type QuarantineTaint } from './job-kinds/index.ts';
import { watchResource } from './watch.ts';

/** An answer, or when to look again although nothing changed (ms since the epoch). */
export type Looked<T> = { readonly answer: T } | { readonly until: number };

/**
 * Shows the job to `look` after every change, and when the time has come that it named, until it answers.
 * While the job cannot be seen nothing is late, and nobody is asked; after an outage nothing is late before `lateFrom`.
 */
export async function awaitJob<T>(
  wait: Omit<Wait, 'deadline'>,
  taint: QuarantineTaint,
  look: (job: JobView | undefined, lateFrom: number) => Looked<T>,
): Promise<T> {
  const { kube, job, now } = wait;
  const entry = jobKinds[job.kind];
  const closing = new AbortController();
  const signal = AbortSignal.any([wait.signal, closing.signal]);
  const bell = new Bell();
  let lateFrom = 0;
  let sees = true;
  const onState = (state: 'watching' | 'broken') => {
    if (state === 'watching' && !sees) lateFrom = now() + sightMs;
    sees = state === 'watching';
    bell.ring();
  };
  const path = namespacePath(entry, job.namespace);
  const jobs = watchResource<KubernetesObject>({ kube, path, fieldSelector: `metadata.name=${job.name}`, signal, onEvent: () => bell.ring(), onState });
  try {
    await jobs.synced;
    for (;;) {
      wait.signal.throwIfAborted();
      const looked: Looked<T> = sees ? look(viewIn(jobs, job, taint), lateFrom) : { until: Infinity };
      if ('answer' in looked) return looked.answer;
      await bell.next(Math.max(0, looked.until - now()), wait.signal);
    }
  } finally {
    closing.abort();
  }
}

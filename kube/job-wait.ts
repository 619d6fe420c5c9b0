/** Waits for something to be seen on a job object alone. */

import type { KubernetesObject } from '@kubernetes/client-node';
import type { JobView } from '../contract/jobs.ts';
import { notifyWhen, viewIn, type AttemptWait, waitFor } from './attempts.ts';
import { AsyncEvent } from './async-event.ts';
import { jobKinds, namespacePath } from './job-kinds/index.ts';
import type { QuarantineTaint } from './nodes.ts';
import { watchResource } from './watch.ts';

/** An answer, or when to look again although nothing changed (ms since the epoch, by the clock of the wait). */
export type Looked<T> = { readonly answer: T } | { readonly until: number };

/**
 * Shows the job to `look` after every change, and when the time has come that it named, until it answers. Before the job could be read
 * at all it is asked only what it says when its time is over.
 */
export async function awaitJob<T>(
  wait: Omit<AttemptWait, 'deadline'>,
  taint: QuarantineTaint,
  look: (job: JobView | undefined) => Looked<T>,
  unread: () => Looked<T>,
): Promise<T> {
  const { kube, job, clock } = wait;
  const entry = jobKinds[job.kind];
  const closing = new AbortController();
  const signal = AbortSignal.any([wait.signal, closing.signal]);
  const changed = new AsyncEvent();
  const onState = (state: 'watching' | 'broken') => {
    if (state === 'watching') clock.regained();
    else clock.lost();
    changed.notify();
  };
  const path = namespacePath(entry, job.namespace);
  const jobs = watchResource<KubernetesObject>({ kube, path, fieldSelector: `metadata.name=${job.name}`, signal, onEvent: () => changed.notify(), onState });
  try {
    const listed = notifyWhen(jobs.synced, changed);
    for (;;) {
      wait.signal.throwIfAborted();
      const looked = listed.is ? look(viewIn(jobs, job, taint)) : unread();
      if ('answer' in looked) return looked.answer;
      await changed.wait(waitFor(wait, looked.until), wait.signal);
    }
  } finally {
    closing.abort();
  }
}

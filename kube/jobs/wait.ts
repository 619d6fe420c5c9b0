/** Waits for a condition on a job object. */

import type { KubernetesObject } from '@kubernetes/client-node';
import { AsyncEvent } from '../../contract/async-event.ts';
import type { JobView } from '../../contract/job/jobs.ts';
import { notifyWhen, waitFor } from '../client/await-objects.ts';
import { type AttemptWait, viewIn } from './attempts.ts';
import { jobKinds, namespacePath } from './kinds/index.ts';
import type { QuarantineTaint } from '../nodes/nodes.ts';
import { watchResource } from '../client/watch.ts';

/** An answer, or when to observe again without a change (ms since the epoch, by the clock of the wait). */
export type LookResult<T> = { readonly answer: T } | { readonly until: number };

/**
 * Calls `look` with the job after every change, and at the time that it named, until it answers. Until the job could be read it is only asked
 * for its answer at the deadline.
 */
export async function awaitJob<T>(
  wait: Omit<AttemptWait, 'deadline'>,
  taint: QuarantineTaint,
  look: (job: JobView | undefined) => LookResult<T>,
  unread: () => LookResult<T>,
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
  const jobs = watchResource<KubernetesObject>({
    kube,
    path,
    fieldSelector: `metadata.name=${job.name}`,
    signal,
    onEvent: () => changed.notify(),
    onState,
  });
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

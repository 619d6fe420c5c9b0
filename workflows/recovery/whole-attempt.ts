import type { Activities } from '../../contract/wire/activities.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { AttemptFacts } from '../../contract/recovery/recovery.ts';
import type { Tools } from './tools.ts';

type Listed = Awaited<ReturnType<Activities['listPods']>>;

/** The facts with every pod, which a stop needs by name: a look at a large attempt leaves most of them out. */
export async function wholeAttempt(
  { perform }: Tools,
  job: JobRef,
  facts: AttemptFacts,
): Promise<AttemptFacts | 'others run' | 'not seen'> {
  return facts.more
    ? completed({ ...facts, more: facts.more }, await perform('listPods', 'every pod of the attempt', { job }))
    : facts;
}

/** Terminating pods may have gone since the look: the newer list counts. */
export function completed(
  facts: AttemptFacts & Required<Pick<AttemptFacts, 'more'>>,
  { pods, terminating, digest, unobservable }: Listed,
): AttemptFacts | 'others run' | 'not seen' {
  if (unobservable !== undefined) return 'not seen';
  return digest === facts.more.digest
    ? { ...facts, pods, terminating, more: { pods: 0, terminating: 0, digest } }
    : 'others run';
}

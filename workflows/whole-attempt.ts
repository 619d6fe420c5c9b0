import type { AttemptFacts, RecoveryInput } from '../contract/recovery.ts';
import { perform } from './proxies.ts';

/** The facts with every pod, which a stop needs by name: a look at a large attempt leaves most of them out. Undefined when others run since. */
export async function wholeAttempt({ job }: RecoveryInput, facts: AttemptFacts): Promise<AttemptFacts | undefined> {
  if (!facts.more) return facts;
  const { pods, leaving, digest } = await perform('listPods', 'every pod of the attempt', { job });
  return digest === facts.more.digest ? { ...facts, pods, leaving, more: { pods: 0, leaving: 0, digest } } : undefined;
}

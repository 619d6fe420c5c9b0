/** The gentlest level: the processes of the job are asked to start training anew by themselves, and nothing is stopped. */

import type { RecoveryDecision } from '../contract/recovery.ts';
import { iso } from './attributes.ts';
import { unlessNews } from './news.ts';
import type { End } from './next-attempt.ts';
import type { Preparing } from './preparing.ts';
import { perform, tolerate } from './proxies.ts';

type Held = Extract<RecoveryDecision, { kind: 'hold' }>;

/** Undefined when it did not help, or something new was seen: the next level is tried then. */
export async function tryInProcess(
  { input, memory, story, isNews }: Pick<Preparing, 'input' | 'memory' | 'story' | 'isNews'>,
  decision: Held,
): Promise<End | undefined> {
  const { incident, job } = input;
  const { inProcess, because, at } = decision;
  if (!inProcess) return undefined;
  const { beyond, withinMs } = inProcess;
  story.happened('asked the processes', because);
  story.now('verifying', { because, waitingFor: `a step beyond ${beyond}`, until: at + withinMs });
  // It counts against the budget as a stop does.
  memory.begun += 1;
  await tolerate(perform('askProcesses', 'ask the processes to go on by themselves', { incident, job, attempt: memory.stops.length + 1 }));
  const request = { incident, job, since: iso(at), beyond, firstMs: withinMs, stallMs: withinMs, mostMs: withinMs };
  const proof = await unlessNews(isNews, () => tolerate(perform('verifyProgress', `wait until training passes step ${beyond} by itself`, request)));
  if (proof !== 'news' && proof?.kind === 'verified') {
    memory.progress = { ...memory.progress, after: proof.progress };
    return { outcome: 'recovered', because: `its processes went on by themselves: ${proof.because}` };
  }
  if (proof !== 'news' && proof?.kind === 'unverified' && proof.moves) {
    memory.progress = { ...memory.progress, ...(proof.progress ? { after: proof.progress } : {}) };
    return { outcome: 'restarted', because: `its processes went on by themselves, and are not back yet: ${proof.because}` };
  }
  const why = proof === 'news' ? 'a new fault came' : (proof?.because ?? 'nobody could look');
  memory.tried.push({ level: 'process', because: `its processes did not go on by themselves: ${why}` });
  story.happened('the next level', why);
  return undefined;
}

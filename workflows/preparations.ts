/** What comes before a stop, in this order. A new step is one function and one line in the list; each has a deadline, and a branch for when it passes. */

import { patched } from '@temporalio/workflow';
import type { Announcement } from '../contract/activities.ts';
import type { eventReasons } from '../contract/ids.ts';
import type { Approval, RecoveryPlan } from '../contract/recovery-plan.ts';
import type { AttemptFacts, RecoveryDecision, RecoveryInput } from '../contract/recovery.ts';
import type { Approvals } from './approval.ts';
import { iso } from './attributes.ts';
import { findRoom } from './room.ts';
import { counted, type IncidentMemory } from './incident-memory.ts';
import type { End } from './next-attempt.ts';
import { unlessNews } from './news.ts';
import { announce, perform, tolerate } from './proxies.ts';
import type { Story } from './story.ts';

/** One stop that is about to be. */
export interface Preparing {
  readonly input: RecoveryInput;
  readonly memory: IncidentMemory;
  readonly approvals: Approvals;
  readonly story: Story;
  readonly event: (type: Announcement['type'], reason: keyof typeof eventReasons, message: string) => Announcement;
  readonly decision: Extract<RecoveryDecision, { kind: 'stop' }>;
  readonly facts: AttemptFacts;
  /** Something came that the decision has not seen. */
  readonly isNews: () => boolean;
}

/** `look again`: it took its time, and a fault, a pause or a release may have come meanwhile. */
export type Prepared = 'ready' | 'look again' | End;

type Step = (preparing: Preparing, plan: RecoveryPlan) => Promise<Prepared>;
const steps: readonly Step[] = [approve, capture, saveFirst, findRoom];

/** Goes through the steps until one of them wants another look, or the end. */
export async function prepare(preparing: Preparing): Promise<Prepared> {
  const { plan } = preparing.decision;
  // Decisions of earlier versions have no plan, and their recoveries only kept evidence.
  if (!plan || !patched('steps')) return capture(preparing);
  for (const step of steps) {
    const prepared = await step(preparing, plan);
    if (prepared !== 'ready') return prepared;
  }
  return 'ready';
}

async function approve(preparing: Preparing, { approval }: RecoveryPlan): Promise<Prepared> {
  return approval ? askPerson(preparing, 'stop', approval) : 'ready';
}

/** Asks once for each `name`; a refusal ends the incident. */
export async function askPerson({ input, approvals, story, event, isNews }: Preparing, name: string, approval: Approval): Promise<Prepared> {
  if (approvals.answerOf(name)?.approved) return 'ready';
  const { because, otherwise } = approval;
  const waitingFor = `kcover approve ${input.incident} --reason "...", or kcover deny; silence means ${otherwise}`;
  const until = approvals.ask(name, approval, () => {
    story.happened('approval asked', because);
    void announce(event('Warning', 'approvalAsked', `${because}; ${waitingFor}`));
  });
  story.now('waiting for approval', { because, waitingFor, until });
  const answer = await approvals.wait(name, approval, isNews);
  if (!answer) return 'look again';
  const said = `${answer.by}: ${answer.reason}`;
  story.happened(answer.approved ? 'approved' : 'denied', said);
  void announce(event(answer.approved ? 'Normal' : 'Warning', 'approvalGiven', `${answer.approved ? 'approved' : 'denied'} by ${said}`));
  return answer.approved ? 'look again' : { outcome: 'refused', because: `denied by ${said}` };
}

/** Once for each attempt, before anything of it is deleted. */
async function capture({ input: { incident, job, limits }, memory, story, facts: { pods } }: Preparing): Promise<Prepared> {
  const attempt = memory.stops.length + 1;
  const deadlineMs = limits.evidenceMs ?? 0;
  if (deadlineMs === 0 || !memory.isFirst('evidence') || !patched('evidence')) return 'ready';
  story.now('capturing evidence', { because: `${counted(pods)} are about to be stopped`, waitingFor: 'their logs', until: Date.now() + deadlineMs });
  const kernel = memory.kernelLines();
  const request = { incident, attempt, job, pods: memory.failingFirst(pods), nodes: memory.nodes(), ...(kernel.length > 0 && { kernel }), deadlineMs };
  const kept = await tolerate(perform('captureEvidence', `keep the evidence of attempt ${attempt}`, request));
  if (kept) memory.evidence.push(kept);
  story.happened(
    'evidence kept',
    kept ? `${kept.ranks} of ${kept.of} ranks, ${kept.bytes} bytes in ${kept.address}${kept.because ? `: ${kept.because}` : ''}` : 'none: the store failed',
  );
  return 'look again';
}

/** The job goes on until its next checkpoint, where that is expected to cost less; a new fault has that judged anew. */
async function saveFirst({ input, memory, story, event, isNews }: Preparing, { checkpoint }: RecoveryPlan): Promise<Prepared> {
  if (checkpoint.strategy !== 'fresh') {
    if (memory.isFirst('checkpoint')) story.happened('no checkpoint awaited', checkpoint.because);
    return 'ready';
  }
  const { because, beyond, withinMs, stallMs } = checkpoint;
  const until = memory.checkpointUntil(Date.now() + withinMs);
  if (until === 'over') return 'ready';
  if (memory.isFirst('checkpoint')) {
    story.happened('waiting for a checkpoint', because);
    void announce(event('Normal', 'checkpointAwaited', `${because}; until ${iso(until)}`));
  }
  story.now('waiting for a checkpoint', { because, waitingFor: `a checkpoint beyond step ${beyond}`, until });
  const { incident, job } = input;
  const left = Math.max(1, until - Date.now());
  const request = { incident, job, atLeast: beyond + 1, withinMs: left, stallMs };
  const seen = await unlessNews(isNews, () => tolerate(perform('awaitCheckpoint', `wait for a checkpoint beyond step ${beyond}: ${because}`, request)));
  if (seen === 'news') return 'look again';
  memory.checkpointSeen(seen ?? { kind: 'missed', waitedMs: 0, because: 'nobody could look' });
  story.happened(seen?.kind === 'saved' ? 'checkpoint saved' : 'no checkpoint', seen?.because ?? 'nobody could look');
  return 'look again';
}

/** Between the stop and the next attempt: the trainer was told to end, and what it saved is told by its node a little later. */
export async function awaitDyingGasp({ input: { incident, job }, memory, story }: Preparing, { checkpoint }: RecoveryPlan): Promise<void> {
  if (checkpoint.strategy !== 'dying-gasp') return;
  const { atLeast, withinMs } = checkpoint;
  story.now('waiting for a checkpoint', { because: checkpoint.because, waitingFor: `a checkpoint of step ${atLeast}`, until: Date.now() + withinMs });
  const seen = await tolerate(perform('awaitCheckpoint', `wait for the checkpoint of step ${atLeast}`, { incident, job, atLeast, withinMs }));
  memory.checkpointSeen(seen ?? { kind: 'missed', waitedMs: 0, because: 'nobody could look' });
  story.happened(seen?.kind === 'saved' ? 'checkpoint acknowledged' : 'no checkpoint acknowledged', seen?.because ?? 'nobody could look');
}

/** What would have been done, where nothing may be. */
export function tellPlan(story: Story, { level, approval, checkpoint, capacity, ignored }: RecoveryPlan): void {
  if (approval) story.happened('would ask', approval.because);
  story.happened(checkpoint.strategy === 'none' ? 'would await no checkpoint' : `would await a checkpoint (${checkpoint.strategy})`, checkpoint.because);
  if (capacity) story.happened('would look for room', `without it: ${capacity.choice}`);
  story.happened(`would restart the ${level.name}`, level.because);
  for (const each of ignored) story.happened('ignored', each);
}

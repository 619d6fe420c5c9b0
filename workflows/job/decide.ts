/** Decides what waits: faults, and requests of people. */

import { recoveryId } from '../../contract/ids.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { RequestedBy } from '../../contract/job/training-job.ts';
import { announce, decideIncident, perform, tolerate } from '../proxies.ts';
import type { JobContext } from './context.ts';
import { dismissalEvents, refusalEvent } from './dismissal-events.ts';
import { nextRequest } from './incident.ts';
import { factsOf, needsProgress } from './incident-facts.ts';
import { takeLabel } from './label.ts';
import { now } from '../arrivals.ts';

export async function decide(context: JobContext): Promise<void> {
  const { job, machine, dispatch } = context;
  // What arrives from here on may not be in the decision.
  const { revision } = machine.state;
  if (nextRequest(machine.state)?.label) await takeLabel(context);
  const { open } = machine.state;
  const asked: RequestedBy | undefined = open ? open.askedBy : nextRequest(machine.state);
  const view = needsProgress(machine.state)
    ? await tolerate(perform('observeJob', `how far is ${jobTitle(job)}?`, { job }))
    : undefined;
  const facts = factsOf({ job, state: machine.state, view, asked, now: now() });
  const decision = await decideIncident(facts);
  const before = machine.state;
  dispatch({
    kind: 'decided',
    decision,
    revision,
    about: open?.incident,
    asked,
    overrides: facts.overrides,
    ...(decision.kind === 'open' && { incident: open?.incident ?? recoveryId(job, decision.at) }),
  });
  const events = dismissalEvents(job, decision.dismissed);
  if (events.length > 0) void announce(...events);
  if (decision.kind !== 'refuse' || before.open?.incident !== open?.incident) return;
  // One Event for each time until which the refusal holds: its key is the same again.
  if (decision.request) void announce(refusalEvent(job, decision, `label/${decision.until}`));
  else if (before.refusedUntil !== decision.until) void announce(refusalEvent(job, decision, `${decision.until}`));
}

import { condition, continueAsNew, defineQuery, defineSignal, defineUpdate, setHandler, workflowInfo } from '@temporalio/workflow';
import { quarantineId } from '../contract/ids.ts';
import { type FaultsObserved, type NodeObserved, type OperatorRequest, signals, statusQuery, updates, faultsQuery } from '../contract/messages.ts';
import type { HeldQuarantine, NodeFaults, NodeInput, NodeOutcome, NodeStatus, NodeView, Quarantined } from '../contract/nodes.ts';
import { iso } from './attributes.ts';
import { NodeState } from './node-state.ts';
import { nodeStatusView } from './node-status-view.ts';
import { isOutage, release } from './node-release.ts';
import { nodeNotifier } from './node-notifier.ts';
import { allAnnounced, attempt, awaitAnnounced, decideNode, observeNodeNow, perform } from './proxies.ts';
import { validateOperatorRequest } from './operator-requests.ts';

/** The machine that this run looks after. */
type MachineId = Pick<NodeView, 'uid' | 'systemUuid'>;

/** Looks after one node from its first fault until it is released, gone, or quiet again. */
export async function nodeQuarantine({ node, continued }: NodeInput): Promise<NodeOutcome> {
  const state = new NodeState(continued, Date.now());
  let view: NodeView | undefined;
  let deciding = true;
  let releasing = false;
  let looks = 0;
  let rechecks = 0;
  let until: number | undefined;
  const notifier = nodeNotifier(node, state, () => view);
  const { notifyJobs, releaseReservation, awaitReservation, record, say } = notifier;
  const statusView = nodeStatusView(node, state, () => ({ view, deciding, releasing, until }));

  setHandler(defineSignal<[FaultsObserved]>(signals.faultsObserved), (payload) => state.take(payload));
  setHandler(defineSignal<[NodeObserved]>(signals.nodeObserved), () => {
    looks += 1;
  });
  setHandler(defineSignal(signals.recheck), () => {
    rechecks += 1;
  });
  setHandler(defineSignal<[OperatorRequest]>(signals.quarantine), (request) => state.takeRequest(request), {
    description: 'Quarantines the node: {"by": "...", "reason": "..."}',
  });
  setHandler(
    defineUpdate<{ incident: string }, [OperatorRequest]>(updates.release),
    (request) => {
      state.release = request;
      state.releaseAt = undefined;
      return { incident: state.quarantine?.incident ?? state.held?.incident ?? '' };
    },
    {
      description: 'Releases the node',
      validator: (request) => {
        validateOperatorRequest(request);
        // Before the first look this is not known: it may find a taint that an earlier run left.
        if (view && !state.isOut()) throw new Error(`${node} is not quarantined`);
      },
    },
  );
  setHandler(defineQuery<NodeStatus>(statusQuery), statusView.status);
  setHandler(defineQuery<NodeFaults>(faultsQuery), statusView.faults);

  // First of all: does the node still exist, and is it still the same machine?
  const before: MachineId | undefined = continued?.uid === undefined ? undefined : { uid: continued.uid, systemUuid: continued.systemUuid ?? '' };
  const over = (await look(before)) ?? (continued ? undefined : adopt());
  deciding = false;
  if (over) return over;
  if (!state.isOut()) state.release = undefined;

  for (;;) {
    const asked = rechecks;
    if (state.release && state.mayRelease()) {
      const outcome = await releaseNow(state.release);
      if (outcome) return outcome;
    } else if (state.hasArrivals()) {
      await judge();
    }
    if (looks > 0) {
      const outcome = await look(view);
      if (outcome) return outcome;
    }
    until = state.nextDeadline(until, Date.now());
    statusView.show();
    if (workflowInfo().continueAsNewSuggested) {
      await awaitAnnounced();
      return continueAsNew<typeof nodeQuarantine>({ node, continued: state.continueAsNewState(view) });
    }

    const isDue = () => state.hasWork() || looks > 0 || (rechecks !== asked && state.held !== undefined) || workflowInfo().continueAsNewSuggested;
    const woken =
      until === undefined
        ? await condition(isDue).then(() => true)
        : await condition(isDue, Math.max(1, until - Date.now()), {
            summary: state.releaseAt !== undefined ? 'release again' : state.held ? 'ask again' : 'until it counts as quiet',
          });
    if (!woken && state.releaseAt !== undefined) {
      // The next try may take its time as well, so what came meanwhile is judged first.
      if (state.hasArrivals()) await judge();
      state.releaseAt = undefined;
    } else if (state.held && (!woken || rechecks !== asked)) await ask();
    else if (!woken && !state.isOut() && !state.hasWork()) {
      const outcome = await endUnlessWork({ node, outcome: 'quiet', because: 'no further fault' });
      if (outcome) return outcome;
    }
  }

  /** Decides on waiting faults, or on a person's request, and acts on the decision. */
  async function judge(): Promise<void> {
    deciding = true;
    const { arrived, request } = state.takeWork();
    const decision = await decideNode({
      ...(view ? { node: view } : {}),
      faults: arrived,
      ...(state.judged ? { judged: state.judged } : {}),
      ...(request ? { askedBy: request } : {}),
    });
    state.remember(decision);
    const { because, faults, kind } = decision;
    if (kind === 'quarantine' && state.quarantine) {
      await notifyJobs(faults, 'quarantined', state.quarantine.because);
    } else if (kind === 'quarantine') {
      state.hold(decision, quarantineId(node, decision.at), request);
      await ask();
    } else if (kind === 'observe') {
      await notifyJobs(faults, 'observed', because);
    } else if (kind === 'restart') {
      await notifyJobs(faults.filter(isOutage), 'not-ready', because);
    }
    deciding = false;
    if (faults.length === 0 && !request) {
      if (!state.isOut()) state.because = because;
      return;
    }
    if (request) return;
    if (!state.isOut()) state.because = kind === 'observe' ? `mode is observe; would quarantine: ${because}` : because;
    say(
      kind === 'record' ? 'Normal' : 'Warning',
      'faultObserved',
      `${state.isOut() ? because : state.because}${decision.remedy ? `; to keep new pods off it: ${decision.remedy}` : ''}`,
      faults[0]?.id,
    );
  }

  /** Reserves the quarantine and writes it; when it is refused, the jobs are notified and hold. */
  async function ask(): Promise<void> {
    const { held } = state;
    if (view === undefined || held === undefined) return;
    until = Date.now() + state.askAgainMs;
    if (held.reported !== undefined && held.by === 'kcover' && !(await stillWanted())) return;
    const asked = held.by === 'kcover' ? { ...(held.preflight && { preflight: held.preflight }) } : { byOperator: true };
    const request = { node, nodeUid: view.uid, incident: held.incident, ...asked };
    let answer = await perform('reserveQuarantine', `may ${node} be quarantined?`, request);
    if (!answer.granted) {
      await awaitReservation();
      // Registered before asking once more, so that a change in between is not missed.
      answer = held.reported === undefined ? await perform('reserveQuarantine', `may ${node} be quarantined now?`, request) : answer;
    }
    if (!answer.granted) return refused(answer.because);
    const { incident } = answer;
    state.held = { ...held, incident, reserved: true };
    const { because, reason, preflight } = held;
    const write = { node, uid: view.uid, incident, reason, because, ...(preflight && { preflight }) };
    const written = await attempt(perform('quarantineNode', `quarantine ${node}: ${because}`, write));
    if ('done' in written) return quarantined(state.held, written.done);
    // The node was replaced, the write was rejected for good, or it took too long: the next look reads what is on the node, and the jobs hold.
    looks += 1;
    await refused(`the quarantine could not be written: ${written.failed}`);
  }

  /** The taint was read back. */
  async function quarantined({ incident, because, reason, by }: HeldQuarantine, { at, taint }: Pick<Quarantined, 'at' | 'taint'>): Promise<void> {
    state.quarantine = { incident, since: Date.parse(at), because, reason, taint, by };
    state.held = undefined;
    state.because = because;
    until = undefined;
    statusView.show();
    const beside = taint === 'other' ? '; a taint of the same key was there already and is left alone' : '';
    say('Warning', 'quarantined', `${because}${beside}`, incident);
    await notifyJobs(state.faults, 'quarantined', because);
    if (view && state.quarantine) await record(state.quarantine, view);
  }

  /** After a failed write: its taint counts if it is there; if not, the reservation is released until it is requested again. */
  async function settle(seen: NodeView, held: HeldQuarantine): Promise<void> {
    if (seen.taint?.ours && seen.taint.incident === held.incident) return quarantined(held, { at: iso(Date.now()), taint: 'ours' });
    await releaseReservation(seen.uid);
    if (state.held) state.held = { ...state.held, reserved: false };
  }

  /** A decision that may have been made under other settings is made again before it is carried out. */
  async function stillWanted(): Promise<boolean> {
    const decision = await decideNode({ ...(view ? { node: view } : {}), faults: state.faults });
    if (decision.kind === 'quarantine') return true;
    state.because = `no longer to be quarantined: ${decision.because}`;
    if (view && state.held?.reserved) await releaseReservation(view.uid);
    state.drop();
    state.quietSince = decision.at;
    state.quietMs = decision.quietMs;
    const others = state.faults.filter((fault) => !isOutage(fault));
    await notifyJobs(others, decision.kind === 'observe' ? 'observed' : 'released', state.because);
    return false;
  }

  async function refused(because: string): Promise<void> {
    const { held } = state;
    if (held === undefined) return;
    state.because = `held: ${because}; ${held.because}`;
    state.held = { ...held, reported: because };
    if (held.reported === because) return;
    await notifyJobs(state.faults, 'held', because);
    say('Warning', 'quarantineHeld', `${state.because}; kcover node quarantine ${node} --reason "..." to quarantine it anyway`, `${held.incident}/${because}`);
  }

  /** Something about the Node object changed: only what is read now counts. */
  async function look(was: MachineId | undefined): Promise<NodeOutcome | undefined> {
    looks = 0;
    // Faults wait for the first look, so it is a local activity. Commands that follow later looks depend on the clock, so those are ordinary activities.
    view = (was ? await perform('observeNode', `read ${node} again`, { node }) : await observeNodeNow(node)) ?? undefined;
    if (view === undefined) return gone(was, 'the node object is gone');
    if (was && view.uid !== was.uid) return replaced(was, view);
    if (was && state.quarantine?.taint === 'ours' && !view.taint?.ours)
      return releaseNow({ by: 'somebody else', reason: view.taint ? 'the annotation beside our taint was removed by hand' : 'our taint was removed by hand' });
    if (state.held?.reserved) await settle(view, state.held);
    return undefined;
  }

  /** The same machine is quarantined again; the quarantine of another machine waits for its return. */
  async function replaced(was: MachineId, now: NodeView): Promise<NodeOutcome | undefined> {
    if (now.systemUuid === '' || now.systemUuid !== was.systemUuid) return gone(was, 'its name was taken by another node object');
    await releaseReservation(was.uid);
    const { quarantine } = state;
    if (quarantine) {
      state.requeueQuarantine(quarantine, quarantineId(node, Date.now()), Date.now());
    } else if (state.held) {
      state.held = { ...state.held, reserved: false };
    }
    await ask();
    return undefined;
  }

  /** A taint of ours that no workflow looks after: somebody terminated the workflow that wrote it. */
  function adopt(): undefined {
    if (!view?.taint?.ours) return undefined;
    const { incident = quarantineId(node, state.quietSince), value } = view.taint;
    state.held = { because: `found quarantined: ${value}`, since: state.quietSince, incident, reason: value || 'adopted', by: 'an earlier run' };
    until = Date.now() + 1;
    return undefined;
  }

  /** Releases the node; what arrived meanwhile is judged in the same run. */
  async function releaseNow(request: OperatorRequest): Promise<NodeOutcome | undefined> {
    releasing = true;
    state.because = `${request.by}: ${request.reason}`;
    statusView.show();
    const came = await release({ node, request, view, state, notifier });
    releasing = false;
    if (came === 'gone') looks += 1;
    if (came === 'gone' || came === 'later') return undefined;
    state.forget();
    return endUnlessWork({ node, ...came });
  }

  /** The machine is gone. What arrived while that was recorded may be about the machine that has its name now. */
  async function gone(was: MachineId | undefined, because: string): Promise<NodeOutcome | undefined> {
    if (was) await releaseReservation(was.uid);
    if (was && state.quarantine) await record(state.quarantine, was, { at: iso(Date.now()), outcome: 'gone', because });
    await condition(allAnnounced);
    for (let seen = -1; was && state.hasArrivals() && state.inbox.length !== seen;) {
      seen = state.inbox.length;
      view ??= (await perform('observeNode', `which machine is ${node} now?`, { node })) ?? undefined;
      if (!view) continue;
      state.forget();
      return undefined;
    }
    return end({
      node,
      outcome: 'gone',
      because,
      ...(was ? { systemUuid: was.systemUuid } : {}),
      ...(state.isOut() ? { quarantinedFor: state.faults.slice(-20) } : {}),
    });
  }

  /** Waits for pending Events; what arrives meanwhile is judged in the same run. */
  async function endUnlessWork(outcome: NodeOutcome): Promise<NodeOutcome | undefined> {
    await condition(() => allAnnounced() || state.hasWork());
    return state.hasWork() ? undefined : end(outcome);
  }

  function end(outcome: NodeOutcome): NodeOutcome {
    statusView.close(outcome);
    return outcome;
  }
}

import { condition, continueAsNew, defineQuery, defineSignal, defineUpdate, setHandler, workflowInfo } from '@temporalio/workflow';
import { quarantineId } from '../contract/ids.ts';
import { type FaultsObserved, type NodeObserved, type OperatorWish, signals, statusQuery, updates } from '../contract/messages.ts';
import type { HeldQuarantine, NodeInput, NodeOutcome, NodeStatus, NodeView, Quarantined } from '../contract/nodes.ts';
import { iso } from './attributes.ts';
import { NodeMemory } from './node-memory.ts';
import { nodePage } from './node-page.ts';
import { isOutage, release } from './node-release.ts';
import { nodeVoice } from './node-voice.ts';
import { allAnnounced, attempt, awaitAnnounced, decideNode, observeNodeNow, perform } from './proxies.ts';
import { requireWish } from './wishes.ts';

/** Which machine this run looks after. */
type Machine = Pick<NodeView, 'uid' | 'systemUuid'>;

/** Looks after one node from its first fault until it is released, gone, or quiet again. */
export async function nodeQuarantine({ node, carried }: NodeInput): Promise<NodeOutcome> {
  const memory = new NodeMemory(carried, Date.now());
  let view: NodeView | undefined;
  let deciding = true;
  let releasing = false;
  let looks = 0;
  let permission = 0;
  let until: number | undefined;
  const voice = nodeVoice(node, memory, () => view);
  const { tellJobs, giveBack, awaitPermission, record, say } = voice;
  const page = nodePage(node, memory, () => ({ view, deciding, releasing, until }));

  setHandler(defineSignal<[FaultsObserved]>(signals.faultsObserved), (payload) => memory.take(payload));
  setHandler(defineSignal<[NodeObserved]>(signals.nodeObserved), () => {
    looks += 1;
  });
  setHandler(defineSignal(signals.permissionChanged), () => {
    permission += 1;
  });
  setHandler(defineSignal<[OperatorWish]>(signals.quarantine), (wish) => memory.wish(wish), {
    description: 'Quarantines the node: {"by": "...", "reason": "..."}',
  });
  setHandler(
    defineUpdate<{ incident: string }, [OperatorWish]>(updates.release),
    (wish) => {
      memory.release = wish;
      memory.releaseAt = undefined;
      return { incident: memory.quarantine?.incident ?? memory.held?.incident ?? '' };
    },
    {
      description: 'Gives the node back',
      validator: (wish) => {
        requireWish(wish);
        // Before the first look nobody knows: a taint may be found that an earlier run left.
        if (view && !memory.isOut()) throw new Error(`${node} is not quarantined`);
      },
    },
  );
  setHandler(defineQuery<NodeStatus>(statusQuery), page.status);

  // The first act of a run: is it still there, and still the same machine?
  const before: Machine | undefined = carried?.uid === undefined ? undefined : { uid: carried.uid, systemUuid: carried.systemUuid ?? '' };
  const over = (await look(before)) ?? (carried ? undefined : adopt());
  deciding = false;
  if (over) return over;
  if (!memory.isOut()) memory.release = undefined;

  for (;;) {
    const asked = permission;
    if (memory.release && memory.mayRelease()) {
      const outcome = await give(memory.release);
      if (outcome) return outcome;
    } else if (memory.hasNews()) {
      await judge();
    }
    if (looks > 0) {
      const outcome = await look(view);
      if (outcome) return outcome;
    }
    until = memory.wakeAt(until, Date.now());
    page.show();
    if (workflowInfo().continueAsNewSuggested) {
      await awaitAnnounced();
      return continueAsNew<typeof nodeQuarantine>({ node, carried: memory.carry(view) });
    }

    const news = () => memory.hasWork() || looks > 0 || (permission !== asked && memory.held !== undefined) || workflowInfo().continueAsNewSuggested;
    const woken =
      until === undefined
        ? await condition(news).then(() => true)
        : await condition(news, Math.max(1, until - Date.now()), {
            summary: memory.releaseAt !== undefined ? 'release again' : memory.held ? 'ask again' : 'until it counts as quiet',
          });
    if (!woken && memory.releaseAt !== undefined) {
      // The next try too may take its time, and what came meanwhile waits no longer.
      if (memory.hasNews()) await judge();
      memory.releaseAt = undefined;
    } else if (memory.held && (!woken || permission !== asked)) await ask();
    else if (!woken && !memory.isOut() && !memory.hasWork()) {
      const outcome = await endUnlessWork({ node, outcome: 'quiet', because: 'no further fault' });
      if (outcome) return outcome;
    }
  }

  /** Faults that wait, or a person's wish: decide, and act on the decision. */
  async function judge(): Promise<void> {
    deciding = true;
    const { arrived, wish } = memory.takeWork();
    const decision = await decideNode({
      ...(view ? { node: view } : {}),
      faults: arrived,
      ...(memory.judged ? { judged: memory.judged } : {}),
      ...(wish ? { askedBy: wish } : {}),
    });
    memory.remember(decision);
    const { because, faults, kind } = decision;
    if (kind === 'quarantine' && memory.quarantine) {
      await tellJobs(faults, 'quarantined', memory.quarantine.because);
    } else if (kind === 'quarantine') {
      memory.hold(decision, quarantineId(node, decision.at), wish);
      await ask();
    } else if (kind === 'observe') {
      await tellJobs(faults, 'observed', because);
    } else if (kind === 'restart') {
      await tellJobs(faults.filter(isOutage), 'not-ready', because);
    }
    deciding = false;
    if (faults.length === 0 && !wish) {
      if (!memory.isOut()) memory.because = because;
      return;
    }
    if (wish) return;
    if (!memory.isOut()) memory.because = kind === 'observe' ? `mode is observe; would quarantine: ${because}` : because;
    say(
      kind === 'record' ? 'Normal' : 'Warning',
      'faultObserved',
      `${memory.isOut() ? because : memory.because}${decision.try ? `; to keep new pods off it: ${decision.try}` : ''}`,
      faults[0]?.id,
    );
  }

  /** Asks for the right to keep the node out, and uses it; a refusal is told to the jobs, which hold. */
  async function ask(): Promise<void> {
    const { held } = memory;
    if (view === undefined || held === undefined) return;
    until = Date.now() + memory.askAgainMs;
    if (held.told !== undefined && held.by === 'kcover' && !(await stillWanted())) return;
    const asked = held.by === 'kcover' ? { ...(held.preflight && { preflight: held.preflight }) } : { byOperator: true };
    const request = { node, nodeUid: view.uid, incident: held.incident, ...asked };
    let answer = await perform('reserveQuarantine', `may ${node} be kept out?`, request);
    if (!answer.granted) {
      await awaitPermission();
      // Registered before asking once more, so that a change in between is not missed.
      answer = held.told === undefined ? await perform('reserveQuarantine', `may ${node} be kept out now?`, request) : answer;
    }
    if (!answer.granted) return refused(answer.because);
    const { incident } = answer;
    memory.held = { ...held, incident, reserved: true };
    const { because, reason, preflight } = held;
    const write = { node, uid: view.uid, incident, reason, because, ...(preflight && { preflight }) };
    const written = await attempt(perform('quarantineNode', `quarantine ${node}: ${because}`, write));
    if ('done' in written) return quarantined(memory.held, written.done);
    // It was replaced, the write was rejected for good, or it took too long: the next look says what stands on the node, and the jobs hold.
    looks += 1;
    await refused(`the quarantine could not be written: ${written.failed}`);
  }

  /** The taint was read back. */
  async function quarantined({ incident, because, reason, by }: HeldQuarantine, { at, taint }: Pick<Quarantined, 'at' | 'taint'>): Promise<void> {
    memory.quarantine = { incident, since: Date.parse(at), because, reason, taint, by };
    memory.held = undefined;
    memory.because = because;
    until = undefined;
    page.show();
    const beside = taint === 'other' ? '; a taint of the same key was there already and is left alone' : '';
    say('Warning', 'quarantined', `${because}${beside}`, incident);
    await tellJobs(memory.faults, 'quarantined', because);
    if (view && memory.quarantine) await record(memory.quarantine, view);
  }

  /** What a write that failed has left: its taint, which counts, or nothing, and then the place is for others until it is asked for anew. */
  async function settle(seen: NodeView, held: HeldQuarantine): Promise<void> {
    if (seen.taint?.ours && seen.taint.incident === held.incident) return quarantined(held, { at: iso(Date.now()), taint: 'ours' });
    await giveBack(seen.uid);
    if (memory.held) memory.held = { ...memory.held, reserved: false };
  }

  /** What was decided under other settings is judged anew before it is done. */
  async function stillWanted(): Promise<boolean> {
    const decision = await decideNode({ ...(view ? { node: view } : {}), faults: memory.faults });
    if (decision.kind === 'quarantine') return true;
    memory.because = `no longer to be quarantined: ${decision.because}`;
    if (view && memory.held?.reserved) await giveBack(view.uid);
    memory.drop();
    memory.quietSince = decision.at;
    memory.quietMs = decision.quietMs;
    const others = memory.faults.filter((fault) => !isOutage(fault));
    await tellJobs(others, decision.kind === 'observe' ? 'observed' : 'released', memory.because);
    return false;
  }

  async function refused(because: string): Promise<void> {
    const { held } = memory;
    if (held === undefined) return;
    memory.because = `held: ${because}; ${held.because}`;
    memory.held = { ...held, told: because };
    if (held.told === because) return;
    await tellJobs(memory.faults, 'held', because);
    say('Warning', 'quarantineHeld', `${memory.because}; kcover node quarantine ${node} --reason "..." to do it all the same`, `${held.incident}/${because}`);
  }

  /** Something about the Node object changed: believe only what is read now. */
  async function look(was: Machine | undefined): Promise<NodeOutcome | undefined> {
    looks = 0;
    // Faults wait for the first look. After later ones the clock is asked, so they are ordinary activities.
    view = (was ? await perform('observeNode', `read ${node} again`, { node }) : await observeNodeNow(node)) ?? undefined;
    if (view === undefined) return gone(was, 'the node object is gone');
    if (was && view.uid !== was.uid) return replaced(was, view);
    if (was && memory.quarantine?.taint === 'ours' && !view.taint?.ours)
      return give({ by: 'somebody else', reason: view.taint ? 'the annotation beside our taint was removed by hand' : 'our taint was removed by hand' });
    if (memory.held?.reserved) await settle(view, memory.held);
    return undefined;
  }

  /** The same machine is quarantined again; what another was quarantined for waits for its return. */
  async function replaced(was: Machine, now: NodeView): Promise<NodeOutcome | undefined> {
    if (now.systemUuid === '' || now.systemUuid !== was.systemUuid) return gone(was, 'its name was taken by another node object');
    await giveBack(was.uid);
    const { quarantine } = memory;
    if (quarantine) {
      memory.holdAgain(quarantine, quarantineId(node, Date.now()), Date.now());
    } else if (memory.held) {
      memory.held = { ...memory.held, reserved: false };
    }
    await ask();
    return undefined;
  }

  /** A taint of ours that no workflow looked after any more: somebody terminated the last one. */
  function adopt(): undefined {
    if (!view?.taint?.ours) return undefined;
    const { incident = quarantineId(node, memory.quietSince), value } = view.taint;
    memory.held = { because: `found quarantined: ${value}`, since: memory.quietSince, incident, reason: value || 'adopted', by: 'an earlier run' };
    until = Date.now() + 1;
    return undefined;
  }

  /** Gives the node back; what arrived meanwhile is judged in the same run. */
  async function give(wish: OperatorWish): Promise<NodeOutcome | undefined> {
    releasing = true;
    memory.because = `${wish.by}: ${wish.reason}`;
    page.show();
    const came = await release({ node, wish, view, memory, voice });
    releasing = false;
    if (came === 'gone') looks += 1;
    if (came === 'gone' || came === 'later') return undefined;
    memory.forget();
    return endUnlessWork({ node, ...came });
  }

  /** The machine is gone. What arrived while that was being written down may be about the one that has its name now. */
  async function gone(was: Machine | undefined, because: string): Promise<NodeOutcome | undefined> {
    if (was) await giveBack(was.uid);
    if (was && memory.quarantine) await record(memory.quarantine, was, { at: iso(Date.now()), outcome: 'gone', because });
    await condition(allAnnounced);
    for (let seen = -1; was && memory.hasNews() && memory.inbox.length !== seen;) {
      seen = memory.inbox.length;
      view ??= (await perform('observeNode', `who is ${node} now?`, { node })) ?? undefined;
      if (!view) continue;
      memory.forget();
      return undefined;
    }
    return end({
      node,
      outcome: 'gone',
      because,
      ...(was ? { systemUuid: was.systemUuid } : {}),
      ...(memory.isOut() ? { quarantinedFor: memory.faults.slice(-20) } : {}),
    });
  }

  /** Waits for what is still to be announced; what arrives meanwhile is judged in the same run. */
  async function endUnlessWork(outcome: NodeOutcome): Promise<NodeOutcome | undefined> {
    await condition(() => allAnnounced() || memory.hasWork());
    return memory.hasWork() ? undefined : end(outcome);
  }

  function end(outcome: NodeOutcome): NodeOutcome {
    page.close(outcome);
    return outcome;
  }
}

/** What a remedy does in each phase. Each effect answers with one event; undefined when something that arrived has changed the phase. */

import type { RepairEnded } from '../../contract/cluster.ts';
import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import { clusterWorkflowId, nodeWorkflowId } from '../../contract/ids.ts';
import type {
  HookRequest,
  HookResult,
  ProofRequest,
  ProofResult,
  RemedyProgress,
} from '../../contract/remedy/remedy.ts';
import { signals } from '../../contract/wire/messages.ts';
import { isHistoryLong, now } from '../arrivals.ts';
import { announce, attempt, perform, tolerate } from '../proxies.ts';
import type { InPhase, Machine } from '../state-machine.ts';
import type { RemedyEvent } from './events.ts';
import { gpusOf } from './machine.ts';
import { type Message, type RemedyState, rungOf } from './state.ts';
import { verificationOf } from './transitions.ts';

export type RemedyMachine = Machine<RemedyState, RemedyEvent>;

/** An activity that does not answer by its own deadline is no longer awaited after this time, ms. */
const graceMs = 60_000;

/** Least time for what is still to be done of an attempt, ms. */
const leastMs = 1000;

export async function runEffect(
  state: Exclude<RemedyState, { phase: 'ended' }>,
  machine: RemedyMachine,
): Promise<RemedyEvent | undefined> {
  switch (state.phase) {
    case 'remembering':
      return unlessLeft(machine, () => recall(state));
    case 'asking':
      return unlessLeft(machine, () => ask(state));
    case 'waiting':
      return wait(state, machine);
    case 'draining':
      return unlessLeft(machine, () => drain(state));
    case 'remediating':
      return unlessLeft(machine, () => remediate(state));
    case 'verifying':
      return unlessLeft(machine, () => verify(state));
    case 'probation':
      return watch(state, machine);
  }
}

export async function send(message: Message): Promise<void> {
  if (message.to === 'people') void announce(message.event);
  else {
    const ended: RepairEnded = { remedy: workflowInfo().workflowId, outcome: message.outcome };
    await signal(clusterWorkflowId, signals.repairEnded, ended);
  }
}

/** Without a workflow of the node, no one waits for it. */
export const report = (node: string, progress: RemedyProgress): Promise<void> =>
  signal(nodeWorkflowId(node), signals.remedyProgressed, progress);

const signal = (workflowId: string, name: string, payload: object): Promise<void> =>
  getExternalWorkflowHandle(workflowId)
    .signal(name, payload)
    .catch(() => undefined);

/** Whether the machine is still where it was when the effect began; faults that are only remembered do not end it. */
function placeOf(state: RemedyState): string {
  const step = 'step' in state ? state.step : '';
  return [state.phase, step, state.rung, state.runs, state.attempt?.checks].join();
}

/** What was begun is no longer awaited when the phase is left. */
async function unlessLeft(machine: RemedyMachine, work: () => Promise<RemedyEvent>): Promise<RemedyEvent | undefined> {
  const place = placeOf(machine.state);
  const scope = new CancellationScope();
  const done = scope.run(work);
  const event = await Promise.race([done, condition(() => placeOf(machine.state) !== place).then(() => undefined)]);
  if (event) return event;
  scope.cancel();
  await done.catch(() => undefined);
  return undefined;
}

async function recall({ input, faults }: RemedyState): Promise<RemedyEvent> {
  const { node, systemUuid, incident, ladder } = input;
  const request = { node, systemUuid, incident, gpus: gpusOf(faults), memoryMs: ladder.memoryMs };
  const recalled = await tolerate(perform('recallIncidents', `earlier incidents of the machine of ${node}`, request));
  return { kind: 'recalled', recalled };
}

async function ask({ input: { node, uid, incident }, reported }: RemedyState): Promise<RemedyEvent> {
  const request = { node, uid, incident };
  let permit = await perform('permitRepair', `may ${node} be repaired?`, request);
  if (permit.kind === 'refused') {
    await signal(clusterWorkflowId, signals.waiting, { workflowId: workflowInfo().workflowId });
    // Registered before asking once more, so that a change in between is not missed.
    if (reported === undefined) permit = await perform('permitRepair', `may ${node} be repaired now?`, request);
  }
  return { kind: 'permitAnswered', permit, at: now() };
}

async function wait({ askAt }: InPhase<RemedyState, 'waiting'>, machine: RemedyMachine): Promise<RemedyEvent> {
  const isDue = () => machine.state.phase !== 'waiting' || machine.state.recheck || isHistoryLong();
  const came = await condition(isDue, Math.max(1, askAt - now()), { summary: 'ask again' });
  return { kind: 'waitEnded', ...(!came && { deadline: askAt }) };
}

async function drain({ input: { node, uid }, until }: InPhase<RemedyState, 'draining'>): Promise<RemedyEvent> {
  const timeoutMs = leftOf(until);
  const result = await within(
    timeoutMs,
    () => perform('drainNode', `other workloads leave ${node}`, { node, uid, timeoutMs }),
    (because) => ({ outcome: 'blocked' as const, because, evicted: 0, remaining: [] }),
  );
  return { kind: 'drainEnded', result, at: now() };
}

async function remediate(state: InPhase<RemedyState, 'remediating'>): Promise<RemedyEvent> {
  const { step, attempt: current, input } = state;
  const rung = rungOf(state);
  if (step === 'looking' || !rung || !current.before) return look(input.node);
  const { operation, before } = current;
  const timeoutMs = leftOf(current.until);
  if (step === 'running') {
    const result = await runHook(hookRequest(state, rung.hook, operation, timeoutMs));
    return { kind: 'hookEnded', operation, result, at: now() };
  }
  const proof = rung.proof.filter((one) => one !== 'result');
  const result = await awaitProof({ node: input.node, before, proof, timeoutMs });
  return { kind: 'proofEnded', operation, result, at: now() };
}

async function verify(state: InPhase<RemedyState, 'verifying'>): Promise<RemedyEvent> {
  const rung = rungOf(state);
  if (state.step === 'looking' || rung?.verify === undefined) return look(state.input.node);
  const operation = verificationOf(state);
  const result = await runHook(hookRequest(state, rung.verify, operation, rung.timeoutMs));
  return { kind: 'hookEnded', operation, result, at: now() };
}

/** Until it is over, or a fault ends it; then the machine is read once more. */
async function watch(
  { until, input: { node } }: InPhase<RemedyState, 'probation'>,
  machine: RemedyMachine,
): Promise<RemedyEvent | undefined> {
  const isDue = () => machine.state.phase !== 'probation' || isHistoryLong();
  if (await condition(isDue, Math.max(1, until - now()), { summary: 'the probation is over' })) return undefined;
  return unlessLeft(machine, async () => {
    const view = await perform('observeMachine', `read ${node} at the end of its probation`, { node });
    return { kind: 'probationEnded', view, at: now() };
  });
}

async function look(node: string): Promise<RemedyEvent> {
  const view = await perform('observeMachine', `read the machine of ${node}`, { node });
  return { kind: 'machineObserved', view, at: now() };
}

function hookRequest({ input, faults }: RemedyState, hook: string, operation: string, timeoutMs: number): HookRequest {
  const { node, uid, systemUuid, incident } = input;
  const codes = [...new Set(faults.map(({ code }) => code))];
  const devices = [...new Set(faults.flatMap(({ device }) => device ?? []))];
  return { hook, node, uid, systemUuid, incident, operation, codes, devices, timeoutMs };
}

const runHook = (request: HookRequest): Promise<HookResult> =>
  within(
    request.timeoutMs,
    () => perform('runHook', `${request.hook} on ${request.node}: ${request.operation}`, request),
    (because) => ({ verdict: 'unknown' as const, because }),
  );

const awaitProof = (request: ProofRequest): Promise<ProofResult> =>
  within(
    request.timeoutMs,
    () => perform('awaitProof', `${request.node}: ${request.proof.join(', ')}`, request),
    (because) => ({ outcome: 'not-proven' as const, because }),
  );

const leftOf = (until: number): number => Math.max(leastMs, until - now());

/** The answer, or what its absence means: no activity is awaited without end. */
async function within<T>(ms: number, work: () => Promise<T>, otherwise: (because: string) => T): Promise<T> {
  try {
    const answer = await CancellationScope.withTimeout(ms + graceMs, () => attempt(work()));
    return 'done' in answer ? answer.done : otherwise(answer.failed);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return otherwise('there was no answer in time');
  }
}

import { condition, continueAsNew, defineQuery, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type {
  ClusterInput,
  ClusterStatus,
  Paused,
  PermitAnswer,
  PermitRequest,
  RepairEnded,
  ReserveAnswer,
  ReserveRequest,
  Returned,
  Storm,
  WaveAnswer,
  WaveRequest,
  WaitingWorkflow,
} from '../../contract/cluster.ts';
import { notCounted, type OperatorRequest, signals, statusQuery, updates } from '../../contract/wire/messages.ts';
import { eventReasons } from '../../contract/ids.ts';
import { isHistoryLong, now } from '../arrivals.ts';
import { attributeWriter, showDetails } from '../attributes.ts';
import { isObject, textOf } from '../faults.ts';
import { validateOperatorRequest } from '../operator-requests.ts';
import { announce } from '../proxies.ts';
import { Machine } from '../state-machine.ts';
import { startTimer } from '../timer.ts';
import { count, notifyWaiting, storePause } from './effects.ts';
import { type ClusterState, firstState, permitRepair, reserve } from './state.ts';
import { attributesOf, detailsOf, statusOf } from './status.ts';
import { stormMessage } from './storms.ts';
import { joinWave } from './waves.ts';
import { type ClusterEvent, clusterTransitions } from './transitions.ts';

/** State that a cluster shares: which nodes may be out, and whether a person has paused everything. Never ends by itself; callers start it when it does not run. */
export async function cluster({
  clusterUid,
  state: continued,
}: ClusterInput & { readonly state?: ClusterState }): Promise<void> {
  const machine = new Machine<ClusterState, ClusterEvent>(clusterTransitions, continued ?? firstState(now()));
  const write = attributeWriter();
  let storing = false;
  handleMessages();
  publish();

  const recount =
    machine.state.recountAt === undefined ? undefined : startTimer(machine.state.recountAt - now(), 'count once more');
  const isRecountDue = () => recount?.fired === true && machine.state.recountAt !== undefined;
  const mustNotify = () =>
    machine.state.phase !== 'counting' && machine.state.changed && machine.state.waiting.length > 0;
  while (!isHistoryLong()) {
    if (machine.state.phase === 'counting' || isRecountDue()) dispatch(await count(clusterUid));
    else if (mustNotify()) await notifyWaiting(machine.state, dispatch);
    else await condition(() => mustNotify() || isRecountDue() || isHistoryLong());
  }
  await continueAsNew<typeof cluster>({ clusterUid, state: machine.state });

  function dispatch(event: ClusterEvent): void {
    machine.dispatch(event);
    publish();
  }

  function publish(): void {
    const { state } = machine;
    write(attributesOf(state));
    const { title, rows } = detailsOf(clusterUid, state);
    showDetails(title, rows);
    if (!state.unstored || storing) return;
    storing = true;
    // It rejects only when this workflow itself ends.
    void storePause(machine, dispatch)
      .catch(() => undefined)
      .finally(() => {
        storing = false;
      });
  }

  function handleMessages(): void {
    setHandler(defineQuery<ClusterStatus>(statusQuery), () => statusOf(clusterUid, machine.state));
    setHandler(defineUpdate<ReserveAnswer[], [ReserveRequest]>(updates.reserve), takeReserve, {
      description: 'Asks for the right to keep nodes out of service',
      validator: (request) => {
        requireCount();
        if (!isReserveRequest(request))
          throw new Error('`limit` and `wanted` with node, nodeUid and incident are needed');
      },
    });
    setHandler(defineUpdate<PermitAnswer, [PermitRequest]>(updates.permitRepair), takePermit, {
      description: 'Asks whether a remedy may act on its node',
      validator: (request) => {
        requireCount();
        if (!isPermitRequest(request)) throw new Error('`remedy`, `node` and `most` are needed');
      },
    });
    setHandler(defineUpdate<WaveAnswer, [WaveRequest]>(updates.joinWave), takeWave, {
      description: 'Asks whether a recovery may begin in the present wave',
      validator: (request) => {
        if (!isWaveRequest(request)) throw new Error('`recovery`, `pods`, `priority` and `rule` are needed');
      },
    });
    setHandler(defineUpdate<Paused, [OperatorRequest]>(updates.pause), takePause, {
      description: 'Stops every quarantine and stop that has not begun',
      validator: validateOperatorRequest,
    });
    setHandler(defineUpdate<{ wasPaused: boolean }, [OperatorRequest]>(updates.resume), takeResume, {
      description: 'Ends a pause; what waited is evaluated again',
      validator: (request) => {
        validateOperatorRequest(request);
        requireCount();
      },
    });
    setHandler(defineSignal<[WaitingWorkflow]>(signals.waiting), (payload) => {
      const workflowId = isObject(payload) ? textOf(payload.workflowId, 1000) : undefined;
      if (workflowId !== undefined) dispatch({ kind: 'waitRequested', workflowId });
    });
    setHandler(defineSignal<[RepairEnded]>(signals.repairEnded), (payload) => {
      const remedy = isObject(payload) ? textOf(payload.remedy, 1000) : undefined;
      const outcome = isObject(payload) ? textOf(payload.outcome, 40) : undefined;
      if (remedy !== undefined) dispatch({ kind: 'repairEnded', remedy, outcome, at: now() });
    });
    setHandler(defineSignal<[Returned]>(signals.returned), (payload) => {
      if (isObject(payload) && Array.isArray(payload.nodeUids))
        dispatch({ kind: 'returned', nodeUids: payload.nodeUids, at: now() });
    });
  }

  function requireCount(): void {
    if (machine.state.phase === 'counting') throw new Error(notCounted);
  }

  function takeReserve(request: ReserveRequest): ReserveAnswer[] {
    const known = new Set(machine.state.storms.open.map(({ id }) => id));
    const { answers, reservations, storms } = reserve(machine.state, request, now());
    dispatch({ kind: 'reserved', reservations, storms });
    for (const storm of storms.open) if (!known.has(storm.id)) announceStorm(storm);
    return answers;
  }

  function takePermit(request: PermitRequest): PermitAnswer {
    const { answer, repairs } = permitRepair(machine.state, request, now());
    dispatch({ kind: 'repairsPermitted', repairs });
    return answer;
  }

  function takeWave(request: WaveRequest): WaveAnswer {
    const { answer, waves } = joinWave(machine.state.waves, request, now());
    dispatch({ kind: 'waveJoined', waves });
    return answer;
  }

  function takePause(request: OperatorRequest): Paused {
    const at = now();
    dispatch({ kind: 'pauseRequested', request, at });
    return { by: request.by, reason: request.reason, since: at };
  }

  function takeResume(request: OperatorRequest): { wasPaused: boolean } {
    const wasPaused = machine.state.phase === 'paused';
    dispatch({ kind: 'resumeRequested', request, at: now() });
    return { wasPaused };
  }
}

/** One Event, on the node that made it a storm. */
function announceStorm(storm: Storm): void {
  void announce({
    about: { kind: 'node', name: storm.nodes.at(-1) ?? '' },
    type: 'Warning',
    reason: eventReasons.storm,
    message: stormMessage(storm),
    key: storm.id,
  });
}

const isPermitRequest = (request: unknown): request is PermitRequest =>
  isObject(request) &&
  typeof request['most'] === 'number' &&
  ['remedy', 'node'].every((key) => textOf(request[key]) !== undefined);

const isWaveRequest = (request: unknown): request is WaveRequest =>
  isObject(request) &&
  textOf(request['recovery']) !== undefined &&
  isObject(request['rule']) &&
  [request['pods'], request['priority'], request['rule']['pods'], request['rule']['everyMs']].every(Number.isFinite);

const isReserveRequest = (request: unknown): request is ReserveRequest =>
  isObject(request) &&
  isObject(request['limit']) &&
  isObject(request['storm']) &&
  typeof request['limit']['nodes'] === 'number' &&
  isObject(request['limit']['preflight']) &&
  Array.isArray(request['wanted']) &&
  request['wanted'].every(
    (one) => isObject(one) && ['node', 'nodeUid', 'incident'].every((key) => textOf(one[key]) !== undefined),
  );

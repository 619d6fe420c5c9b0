import { continueAsNew, defineQuery, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import { recoveryId } from '../../contract/ids.ts';
import {
  type FaultsObserved,
  type JobObserved,
  notReady,
  type OperatorRequest,
  type Recover,
  signals,
  statusQuery,
  updates,
} from '../../contract/wire/messages.ts';
import type { RecoveryOutcome } from '../../contract/recovery/recovery.ts';
import type { JobInput, JobOutcome, JobStatus, RecoverAnswer } from '../../contract/job/training-job.ts';
import { isHistoryLong, now } from '../arrivals.ts';
import { attributeWriter, showDetails } from '../attributes.ts';
import { isObject, takeFaults, textOf } from '../faults.ts';
import { validateOperatorRequest } from '../operator-requests.ts';
import { awaitLastMessages } from '../proxies.ts';
import { Machine } from '../state-machine.ts';
import type { JobContext } from './context.ts';
import { decide } from './decide.ts';
import { refuseLabel } from './label.ts';
import { reportPause } from './pause.ts';
import { begin, read } from './read.ts';
import { forward, start } from './recover.ts';
import { continuedState, firstState, type JobState } from './state.ts';
import { attributesOf, detailsOf, statusOf } from './status.ts';
import { nextStep, type Step } from './steps.ts';
import { type JobEvent, jobTransitions } from './transitions.ts';
import { mayClose, wait } from './wait.ts';

/** Looks after one training job from opt-in to its end: collects faults, opens one incident at a time, keeps the budget. */
export async function trainingJob({
  job,
  state: continued,
}: JobInput & { readonly state?: JobState }): Promise<JobOutcome> {
  const machine = new Machine<JobState, JobEvent>(
    jobTransitions,
    continued ? continuedState(continued, now()) : firstState(now()),
  );
  const context: JobContext = {
    job,
    machine,
    dispatch: (event) => void machine.dispatch({ ...event, at: now() }),
  };
  const write = attributeWriter();
  handleMessages(context);

  const steps: Readonly<Record<Step, () => Promise<void>>> = {
    begin: () => begin(context),
    start: () => start(context),
    read: async () => void (await read(context)),
    'report-pause': () => reportPause(context),
    // Not awaited. It never rejects.
    'refuse-label': async () => void refuseLabel(context),
    decide: () => decide(context),
    forward: () => forward(context),
    wait: continueOrWait,
  };
  for (;;) {
    if (mayClose(machine.state)) context.dispatch({ kind: 'closed' });
    const step = nextStep(machine.state);
    // What a read finds is shown at once: a job that has gone is not watched for a moment.
    if (step !== 'read') publish();
    if (machine.state.phase === 'ended') return machine.state.outcome;
    await steps[step]();
  }

  function publish(): void {
    write(attributesOf(machine.state));
    const { title, rows } = detailsOf(job, machine.state);
    showDetails(title, rows);
  }

  async function continueOrWait(): Promise<void> {
    if (mayContinue()) await awaitLastMessages();
    // A label or a pause may have come meanwhile, which this run reports.
    if (mayContinue()) await continueAsNew<typeof trainingJob>({ job, state: machine.state });
    await wait(context, mayContinue);
  }

  function mayContinue(): boolean {
    const { pauseChanges, labelLeft, labelRemovals } = machine.state;
    return isHistoryLong() && pauseChanges.length === 0 && !labelLeft && labelRemovals === 0;
  }
}

function handleMessages({ job, machine, dispatch }: JobContext): void {
  setHandler(defineQuery<JobStatus>(statusQuery), () => statusOf(job, machine.state, Date.now()));
  setHandler(defineSignal<[FaultsObserved]>(signals.faultsObserved), (payload) =>
    dispatch({ kind: 'faultsObserved', ...takeFaults(payload) }),
  );
  setHandler(defineSignal<[JobObserved]>(signals.jobObserved), () => dispatch({ kind: 'jobObserved' }));
  setHandler(defineSignal<[RecoveryOutcome]>(signals.recoveryEnded), (report) =>
    dispatch({ kind: 'recoveryEnded', report }),
  );
  setHandler(
    defineSignal<[Recover?]>(signals.recover),
    (payload: unknown) => {
      const { by, reason, label } = isObject(payload) ? payload : {};
      const request = {
        by: textOf(by) ?? 'signal',
        reason: textOf(reason) ?? 'asked by signal',
        ...(label === true ? { label: true as const } : {}),
      };
      dispatch({ kind: 'recoveryRequested', request });
    },
    { description: 'Asks for a recovery now: {"by": "...", "reason": "..."}' },
  );
  setHandler(
    defineUpdate<RecoverAnswer, [OperatorRequest]>(updates.recoverNow),
    (request) => {
      const incident = recoveryId(job, now());
      dispatch({ kind: 'recoverNowRequested', incident, request });
      return { incident };
    },
    {
      description: 'Restarts the whole job now, beyond the budget',
      validator: (request) => {
        validateOperatorRequest(request);
        const { state } = machine;
        if (state.open) throw new Error(`already recovering: ${state.open.incident}`);
        if (state.over) throw new Error(`no longer looked after: ${state.over.because}`);
        if (state.phase === 'starting' && state.isFirstRun) throw new Error(notReady);
      },
    },
  );
  setHandler(
    defineUpdate<OperatorRequest, [OperatorRequest]>(updates.pause),
    (request) => {
      dispatch({ kind: 'pauseRequested', request });
      return { by: request.by, reason: request.reason };
    },
    { description: 'Nothing disruptive begins for this job until it is resumed', validator: validateOperatorRequest },
  );
  setHandler(
    defineUpdate<{ wasPaused: boolean }, [OperatorRequest]>(updates.resume),
    (request) => {
      const wasPaused = machine.state.paused !== undefined;
      dispatch({ kind: 'resumeRequested', request });
      return { wasPaused };
    },
    { description: 'Ends a pause of this job; what waits is evaluated again', validator: validateOperatorRequest },
  );
}

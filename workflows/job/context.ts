import type { JobRef } from '../../contract/job/jobs.ts';
import type { Machine } from '../state-machine.ts';
import type { JobState } from './state.ts';
import type { JobEvent, JobHappening } from './transitions.ts';

/** What every effect of a job's workflow is called with. */
export interface JobContext {
  readonly job: JobRef;
  readonly machine: Machine<JobState, JobEvent>;
  readonly dispatch: (event: JobHappening) => void;
}

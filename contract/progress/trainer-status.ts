/** Progress as Kubeflow Trainer's status server takes it: the Trainer of Hugging Face sends it to the URL in `KUBEFLOW_TRAINER_SERVER_URL`. */

import type { RestartPoll } from './restart.ts';

export const trainerStatusPath = '/v1/trainer-status';

/** Audience of the projected token of a training pod; no other token is accepted. */
export const trainerStatusAudience = 'kcover-progress';

/** Whether the step counts: the sender is a pod of the present attempt of a job; and what that pod is asked. */
export interface TrainerStatusAnswer extends RestartPoll {
  readonly counted: boolean;
}

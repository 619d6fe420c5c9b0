/** Which rank the trainer's own reports name as the slowest, and where it runs. */

import type { TrainingPod } from '../../kube/pods/training-pods.ts';
import { judgeStraggler } from '../../policy/progress/straggler.ts';
import type { LogTable } from './log-table.ts';
import type { TrainingPods } from './pod-table.ts';
import type { SlowdownOptions } from './slowdowns.ts';

export const findStragglers =
  (
    logs: Pick<LogTable, 'stragglerOf'>,
    pods: Pick<TrainingPods, 'presentOf'>,
    rankIn: (pod: TrainingPod) => number | undefined,
  ): SlowdownOptions['stragglers'] =>
  ({ uid }, since) =>
    judgeStraggler(
      logs.stragglerOf(uid, since),
      pods.presentOf(uid).map((pod) => ({ ...pod, rank: rankIn(pod) })),
    );

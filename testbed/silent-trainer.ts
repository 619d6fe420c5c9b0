/** A trainer that reports no progress: it prints what Megatron-LM prints, steps on the last rank and checkpoints on the first one. */

import { writeToLog } from './container-log.ts';
import type { RunningJob } from './jobs.ts';
import { podsOf } from './jobs.ts';
import { type ReportStep, rankIn, startTrainer, type Trainer, type Training } from './trainer.ts';
import type { TestCluster } from './test-cluster.ts';

type SilentCluster = Pick<TestCluster, 'api' | 'nodes'>;

const steps = 500_000;

/** `2026-08-22 10:00:00.123456` */
const clock = (at: string): string => at.replace('T', ' ').replace('Z', '000');

const iteration = (step: number, at: string, ms: number): string =>
  ` [${clock(at)}] iteration ${String(step).padStart(8)}/${String(steps).padStart(8)} | consumed samples: ${String(step * 256).padStart(12)} | elapsed time per iteration (ms): ${ms.toFixed(1)} | learning rate: 1.000000E-04 | global batch size:   256 | lm loss: 2.104512E+00 | loss scale: 1.0 | grad norm: 1.021 | number of skipped iterations:   0 | number of nan iterations:   0 |`;

const initialized = '> initialized tensor model parallel with size 1';

const saved = (step: number): string =>
  `  successfully saved checkpoint from iteration ${String(step).padStart(7)} to /checkpoints/llm [ t 1/1, p 1/1 ]`;

/** Trains as `startTrainer` does. */
export function startSilentTrainer(cluster: SilentCluster, job: RunningJob, training: Training): Trainer {
  let begun: string | undefined;
  const report: ReportStep = async ({ nodes }, { id, pods }, { step, at, checkpointStep }) => {
    if (id !== begun) for (const pod of pods) await writeToLog(nodes, pod, [initialized]);
    begun = id;
    const [first, last] = [pods[0], pods.at(-1)];
    if (last) await writeToLog(nodes, last, [iteration(step, at, training.msPerStep)]);
    if (first && step === checkpointStep) await writeToLog(nodes, first, [saved(step)]);
  };
  return startTrainer(cluster, job, training, report);
}

/** As `ProcessGroupNCCL.cpp` of PyTorch 2.7 prints it. */
function watchdogLines(rank: number, sequence: number, timeoutMs: number): readonly string[] {
  const head = `[rank${rank}]:[E709 17:05:38.123456789 ProcessGroupNCCL.cpp`;
  const group = `[PG ID 0 PG GUID 0(default_pg) Rank ${rank}]`;
  return [
    `${head}:629] ${group} Watchdog caught collective operation timeout: WorkNCCL(SeqNum=${sequence}, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=${timeoutMs}) ran for ${timeoutMs + 41} milliseconds before timing out.`,
    `${head}:2168] ${group}  failure detected by watchdog at work sequence id: ${sequence} PG status: last enqueued work: ${sequence + 4}, last completed work: ${sequence - 1}`,
  ];
}

/** The watchdogs of all ranks report a collective that did not end, except that of the rank which never joined it. */
export async function watchdogsReport(cluster: SilentCluster, job: RunningJob, missing: number): Promise<void> {
  const pods = await podsOf(cluster.api, job);
  for (const pod of pods) {
    const rank = rankIn(pods, pod);
    if (rank !== missing) await writeToLog(cluster.nodes, pod, watchdogLines(rank, 20_585, 600_000));
  }
}

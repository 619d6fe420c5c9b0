/** Simulates the trainer of a job whose checkpoints the scenario controls. */

import type { SimulatedNode } from '../../testbed/nodes.ts';
import { writeProgressFile } from '../../testbed/trainer.ts';
import type { LiveJob, LiveKcover } from '../support/live-kcover.ts';

export interface ScriptedTrainer {
  /** The node of rank 0, or its last one. */
  readonly node: SimulatedNode | undefined;
  /** Stops making steps until its pods are replaced. */
  stall(): void;
  /** Writes no checkpoint until `save`, or the end. */
  withholdCheckpoints(): void;
  /** Writes a checkpoint of the present step, and later ones as usual. */
  save(): void;
  stop(): void;
}

const everyMs = 250;
const stepsEach = 5;
const stepsPerCheckpoint = 60;

/** Trains while all pods run, and begins every attempt from the last checkpoint. */
export function startScriptedTrainer(
  live: LiveKcover,
  job: LiveJob,
  { savesAtEnd }: { readonly savesAtEnd: boolean },
): ScriptedTrainer {
  let [step, saved] = [0, 0];
  let [held, wanted] = [false, false];
  let attempt: string | undefined;
  let stuck: string | undefined;
  let node: SimulatedNode | undefined;

  function turn(): void {
    const pods = live.recorder.podsOf(job).filter(({ gone }) => gone === undefined);
    const whole = pods.length > 1 && !live.recorder.isSuspended(job) && pods.every(({ ready }) => ready);
    if (!whole) {
      if (attempt !== undefined && savesAtEnd) saveFinalCheckpoint();
      attempt = undefined;
      return;
    }
    const id = pods.map(({ uid }) => uid).join(' ');
    if (id === stuck) return;
    step = id === attempt ? step + stepsEach : saved;
    attempt = id;
    const master = pods.find(({ name }) => name.endsWith('-master-0'));
    node = live.cluster.nodes.find(({ name }) => name === master?.node);
    if (wanted || (!held && step - saved >= stepsPerCheckpoint)) saved = step;
    wanted = false;
    write();
  }

  /** Writes its final checkpoint and reports it. */
  function saveFinalCheckpoint(): void {
    saved = step;
    write();
  }

  function write(): void {
    if (node)
      void writeProgressFile(node, job, {
        step,
        checkpointStep: saved,
        at: new Date().toISOString(),
        phase: 'training',
      }).catch(() => undefined);
  }

  const timer = setInterval(turn, everyMs);
  return {
    get node() {
      return node;
    },
    stall: () => void (stuck = attempt),
    withholdCheckpoints: () => void (held = true),
    save: () => void ([held, wanted] = [false, true]),
    stop: () => clearInterval(timer),
  };
}

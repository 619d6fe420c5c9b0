/** Plays the trainer of a job whose checkpoints come when the story wants them. */

import type { SimulatedNode } from '../../testbed/nodes.ts';
import { writeProgressFile } from '../../testbed/trainer.ts';
import type { LiveJob, LiveKcover } from '../support/live-kcover.ts';

export interface ScriptedTrainer {
  /** Where rank 0 runs, or last ran. */
  readonly node: SimulatedNode | undefined;
  /** No step any more until its pods are others. */
  standStill(): void;
  /** No checkpoint any more until `save`, or the end. */
  withholdCheckpoints(): void;
  /** A checkpoint of the present step, and then as usual again. */
  save(): void;
  stop(): void;
}

const everyMs = 250;
const stepsEach = 5;
const stepsPerCheckpoint = 60;

/** Goes on while all pods run, and begins every attempt with the last checkpoint. A job of one pod is none of its. */
export function startScriptedTrainer(live: LiveKcover, job: LiveJob, { savesAtEnd }: { readonly savesAtEnd: boolean }): ScriptedTrainer {
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

  /** Its last checkpoint, and its last words. */
  function saveFinalCheckpoint(): void {
    saved = step;
    write();
  }

  function write(): void {
    if (node) void writeProgressFile(node, job, { step, checkpointStep: saved, at: new Date().toISOString(), phase: 'training' }).catch(() => undefined);
  }

  const timer = setInterval(turn, everyMs);
  return {
    get node() {
      return node;
    },
    standStill: () => void (stuck = attempt),
    withholdCheckpoints: () => void (held = true),
    save: () => void ([held, wanted] = [false, true]),
    stop: () => clearInterval(timer),
  };
}

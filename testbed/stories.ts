import { brokenGpu } from './broken-gpu.ts';
import { checkpoint } from './checkpoint.ts';
import { nodeLife } from './node-life.ts';
import { realTrainer } from './real-trainer.ts';
import { shrink } from './shrink.ts';
import { silentJob } from './silent-job.ts';
import { slowNode } from './slow-node.ts';
import { storm } from './storm.ts';
import type { Story } from './story.ts';

/** The demos of `npm run demo`. */
export const stories = {
  'broken-gpu': brokenGpu,
  'slow-node': slowNode,
  checkpoint,
  shrink,
  'silent-job': silentJob,
  'node-life': nodeLife,
  storm,
  'real-trainer': realTrainer,
} as const satisfies Record<string, Story>;
export type DemoScenarioName = keyof typeof stories;

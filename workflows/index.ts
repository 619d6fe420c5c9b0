export { cluster } from './cluster/index.ts';
export { nodeQuarantine } from './node/index.ts';
export { preflight } from './preflight.ts';
export { recovery } from './recovery.ts';
export { trainingJob } from './training-job.ts';

export { cluster } from './cluster/index.ts';
export { nodeQuarantine } from './node-quarantine.ts';
export { preflight } from './preflight.ts';
export { recovery } from './recovery/index.ts';
export { trainingJob } from './training-job.ts';

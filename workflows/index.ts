export { cluster } from './cluster/index.ts';
export { nodeQuarantine } from './node-quarantine.ts';
export { preflight } from './preflight/index.ts';
export { recovery } from './recovery.ts';
export { trainingJob } from './job/index.ts';

export { cluster } from './cluster/index.ts';
export { trainingJob } from './job/index.ts';
export { maintenance } from './maintenance/index.ts';
export { nodeQuarantine } from './node/index.ts';
export { notify } from './notify/index.ts';
export { preflight } from './preflight/index.ts';
export { recovery } from './recovery/index.ts';
export { remedy } from './remedy/index.ts';

/** `npm run build`: builds what an installed package runs into dist/: the program as JavaScript, and the workflows as one bundle. */

import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');

await rm(dist, { recursive: true, force: true });
// tsc also copies imported JSON.
execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
const { code } = await bundleWorkflowCode({
  workflowsPath: join(root, 'workflows/index.ts'),
  workflowInterceptorModules: [join(root, 'workflows/arrivals.ts')],
  logger: new DefaultLogger('WARN'),
});
await writeFile(join(dist, 'workflow-bundle.js'), code);
console.log(`dist/ is built (workflow bundle: ${Math.round(code.length / 1024)} KiB)`);

import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** The workflows, bundled once for all workers of a test cluster. */
export async function bundleWorkflows(file: string): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
    workflowInterceptorModules: [fileURLToPath(new URL('../workflows/arrivals.ts', import.meta.url))],
    logger: new DefaultLogger('WARN'),
  });
  await writeFile(file, code);
  return file;
}

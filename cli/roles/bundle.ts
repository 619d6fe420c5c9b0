/** The workflow bundle of a worker: from the build, or bundled at start. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import type { Logger, WorkflowBundleOption } from '@temporalio/worker';
import { KcoverError } from '../../contract/errors.ts';

/** When run from source, a bundle of an earlier build may not match the code, so it is not used. */
const fromSource = import.meta.url.endsWith('.ts');

const beside = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export async function workflowBundle(file: string | undefined, logger: Logger): Promise<WorkflowBundleOption> {
  if (file !== undefined && !existsSync(file))
    throw new KcoverError('usage', `there is no file ${file}`, {
      remedy: 'leave --workflow-bundle out, or name a bundle',
    });
  const built = file ?? (fromSource ? undefined : beside('../../workflow-bundle.js'));
  if (built !== undefined && existsSync(built)) return { codePath: built };
  const workflow = (file: string) => beside(`../../workflows/${file}.${fromSource ? 'ts' : 'js'}`);
  return bundleWorkflowCode({
    workflowsPath: workflow('index'),
    workflowInterceptorModules: [workflow('arrivals')],
    logger,
  });
}

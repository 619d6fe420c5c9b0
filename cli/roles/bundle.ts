/** The workflow code of a worker: bundled before, or bundled now. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import type { Logger, WorkflowBundleOption } from '@temporalio/worker';
import { KcoverError } from '../../contract/errors.ts';

/** Source runs as it stands: a bundle of an earlier build would be other code. */
const fromSource = import.meta.url.endsWith('.ts');

const beside = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export async function workflowBundle(file: string | undefined, logger: Logger): Promise<WorkflowBundleOption> {
  if (file !== undefined && !existsSync(file))
    throw new KcoverError('usage', `there is no file ${file}`, { remedy: 'leave --workflow-bundle out, or name a bundle' });
  const built = file ?? (fromSource ? undefined : beside('../../workflow-bundle.js'));
  if (built !== undefined && existsSync(built)) return { codePath: built };
  return bundleWorkflowCode({ workflowsPath: beside(`../../workflows/index.${fromSource ? 'ts' : 'js'}`), logger });
}

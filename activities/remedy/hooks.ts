/** Runs the hooks of a remedy: one contract for every kind. */

import { Context } from '@temporalio/activity';
import { KcoverError } from '../../contract/errors.ts';
import type { HookRequest, HookResult } from '../../contract/remedy/remedy.ts';
import type { Hook } from '../../contract/settings/remediation.schema.ts';
import { readNode } from '../../kube/nodes/nodes.ts';
import type { Dependencies } from '../dependencies.ts';
import { failed, unknown } from './answer.ts';
import { runCommand } from './command-hook.ts';
import { currentRun, type HookRun, untilAnswered } from './hook-run.ts';
import { runHttp } from './http-hook.ts';
import { runJob } from './job-hook.ts';
import { runObject } from './object-hook.ts';

/** Rejects with an error of the catalogue where nothing is known of what the hook did; waits until it ends, or the run's deadline. */
type Kind<K extends Hook['kind']> = (run: HookRun, hook: Extract<Hook, { kind: K }>) => Promise<HookResult>;

const kinds = { job: runJob, object: runObject, http: runHttp, command: runCommand } satisfies {
  readonly [K in Hook['kind']]: Kind<K>;
};

/** Runs the hook, or looks at what an earlier try began. */
export async function runHook(dependencies: Dependencies, request: HookRequest): Promise<HookResult> {
  const { mode, hooks } = dependencies.settings.remediation;
  // A person who may start activities could otherwise repair nodes where the settings forbid it.
  if (mode !== 'run') return failed('remediation.mode is off');
  const hook = Object.entries(hooks).find(([name]) => name === request.hook)?.[1];
  if (hook === undefined) return failed(`remediation.hooks has no ${request.hook}`);
  const run = currentRun(dependencies, request);
  try {
    const because = run.isLater ? undefined : await whyNotBegun(run);
    if (because !== undefined) return failed(because);
    return await (kinds[hook.kind] as Kind<Hook['kind']>)(run, hook);
  } catch (error) {
    if (run.signal.aborted) {
      // Not when the worker shuts down: then another one continues.
      if (!Context.current().cancellationDetails?.cancelRequested) throw error;
      const left = run.reference === undefined ? '' : `; ${run.reference} is left as it is`;
      return run.progress.begun || run.isLater
        ? unknown(`cancelled before its end was seen${left}`)
        : failed('cancelled before it began');
    }
    if (!(error instanceof KcoverError)) throw error;
    const because = `${error.message}: ${error.because}`;
    return run.progress.begun || run.isLater ? unknown(because) : failed(`it was not begun: ${because}`);
  }
}

/** Nothing is done to another machine of the same name. */
async function whyNotBegun(run: HookRun): Promise<string | undefined> {
  const { node, uid } = run.request;
  const found = await untilAnswered(run, () => readNode(run.dependencies.kube, node));
  if (!found) return `node ${node} is gone`;
  return found.metadata?.uid === uid ? undefined : `node ${node} was replaced`;
}

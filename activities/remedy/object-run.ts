/** Creates the object of a hook, or finds the one of an earlier try. */

import type { KubernetesObject } from '@kubernetes/client-node';
import { KcoverError } from '../../contract/errors.ts';
import type { HookResult } from '../../contract/remedy/remedy.ts';
import { createHookObject, findHookObject } from '../../kube/hooks/create.ts';
import { failed, unknown } from './answer.ts';
import { type HookRun, untilAnswered } from './hook-run.ts';

/** The API server has refused these for certain; after any other error the object may exist. */
const refusals = new Set(['kube.invalid', 'kube.forbidden', 'name.invalid', 'not-found']);

/**
 * The UID of the object, or why there is none. A later try looks first. It may create the object then: the name is the operation, and the object
 * outlives the operation, so one that is absent was never created, unless an earlier try has seen it.
 */
export async function obtainObject(
  run: HookRun,
  collection: string,
  object: KubernetesObject,
): Promise<{ readonly uid: string } | { readonly ended: HookResult }> {
  const { kube } = run.dependencies;
  const { created } = run.progress;
  const foreign = failed(`there is another ${object.kind} ${object.metadata?.name}, which kcover did not make`);
  if (run.isLater) {
    const found = await untilAnswered(run, () => findHookObject(kube, collection, run.request.operation));
    if (found === 'foreign') return { ended: foreign };
    if (found !== 'absent' && created !== undefined && found.uid !== created)
      return { ended: unknown('it was replaced') };
    if (found !== 'absent') return found;
    if (created !== undefined) return { ended: unknown('it was deleted before its end was seen') };
  }
  run.note({ begun: true });
  try {
    const made = await untilAnswered(run, () => createHookObject(kube, collection, object));
    if (made === 'foreign') return { ended: foreign };
    run.note({ created: made.uid });
    return made;
  } catch (error) {
    if (error instanceof KcoverError && refusals.has(error.code))
      return { ended: failed(`it could not be created: ${error.because}`) };
    throw error;
  }
}

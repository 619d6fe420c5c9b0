/** Hook: an object of another controller, of which a condition is awaited. */

import type { KubernetesObject } from '@kubernetes/client-node';
import type { HookResult } from '../../contract/remedy/remedy.ts';
import type { Hook } from '../../contract/settings/remediation.schema.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { awaitObjects } from '../../kube/client/await-objects.ts';
import { collectionOf } from '../../kube/hooks/create.ts';
import { marked } from '../../kube/hooks/hook-job.ts';
import { filled, readObjectTemplate } from '../../kube/hooks/template.ts';
import { becauseLength, failed, unknown } from './answer.ts';
import { type HookRun, overdue, untilAnswered, withReference } from './hook-run.ts';
import { obtainObject } from './object-run.ts';

type ObjectHook = Extract<Hook, { kind: 'object' }>;

export async function runObject(run: HookRun, hook: ObjectHook): Promise<HookResult> {
  const { request, dependencies } = run;
  const { kube, settings } = dependencies;
  const { namespace } = settings.remediation;
  const template = filled(await readObjectTemplate(hook.template), request);
  const collection = await untilAnswered(run, () => collectionOf(kube, template, namespace));
  const isNamespaced = collection.includes('/namespaces/');
  const reference = `${template.kind} ${isNamespaced ? `${namespace}/` : ''}${request.operation}`;
  run.reference = reference;
  const metadata = {
    ...marked(template.metadata, request),
    name: request.operation,
    ...(isNamespaced && { namespace }),
  };
  const made = await obtainObject(run, collection, { ...template, metadata });
  if ('ended' in made) return withReference(made.ended, reference);

  const result = await awaitObjects(
    { ...run, kube },
    [{ path: collection, fieldSelector: `metadata.name=${request.operation}` }],
    (objects = []) => {
      const found = objects.find((object) => object.metadata?.uid === made.uid);
      return found ? resultOfObject(found, hook) : unknown('it was deleted before its end was seen');
    },
  );
  return withReference(result ?? unknown(overdue(run, reference)), reference);
}

/**
 * The result by its conditions; undefined while there is none. Where `failed` names the same type as `condition`, False says that it failed: some
 * controllers have one condition for both ends, others write False until they are finished.
 */
export function resultOfObject(object: KubernetesObject, hook: ObjectHook): HookResult | undefined {
  const conditions = conditionsOf(object);
  const is = (type: string | undefined, status: string) =>
    conditions.find((condition) => condition.type === type && condition.status === status);
  const bad = hook.failed === hook.condition ? is(hook.failed, 'False') : is(hook.failed, 'True');
  if (bad) return failed(inWords(bad));
  const good = is(hook.condition, 'True');
  return good && { verdict: 'passed', because: inWords(good) };
}

type Condition = Readonly<Partial<Record<'type' | 'status' | 'reason' | 'message', unknown>>>;

function conditionsOf(object: KubernetesObject): readonly Condition[] {
  const { status } = object as { readonly status?: { readonly conditions?: unknown } };
  const conditions = status?.conditions;
  return Array.isArray(conditions) ? conditions.filter((each) => typeof each === 'object' && each !== null) : [];
}

const inWords = ({ type, status, reason, message }: Condition): string =>
  foreignText(
    [`${String(type)} is ${String(status)}`, reason, message]
      .filter((part) => typeof part === 'string' && part)
      .join(': '),
    becauseLength,
  );

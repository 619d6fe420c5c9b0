/** Hook: a Job on the node, whose pod says how it went. */

import type { V1Job, V1Pod } from '@kubernetes/client-node';
import { hookMarks } from '../../contract/ids.ts';
import type { HookResult } from '../../contract/remedy/remedy.ts';
import type { Hook } from '../../contract/settings/remediation.schema.ts';
import { awaitObjects } from '../../kube/client/await-objects.ts';
import { collectionPath } from '../../kube/client/request-url.ts';
import { hookJob } from '../../kube/hooks/hook-job.ts';
import { readJobTemplate } from '../../kube/hooks/template.ts';
import { podsPath } from '../../kube/pods/pods.ts';
import { unknown } from './answer.ts';
import { type HookRun, overdue, withReference } from './hook-run.ts';
import { resultOfJob, whyNotStarted } from './job-result.ts';
import { obtainObject } from './object-run.ts';

export async function runJob(run: HookRun, { template }: Extract<Hook, { kind: 'job' }>): Promise<HookResult> {
  const { request, dependencies, deadline } = run;
  const { remediation, quarantine } = dependencies.settings;
  const { namespace } = remediation;
  const job = hookJob(await readJobTemplate(template), request, {
    namespace,
    taintKey: quarantine.taint.key,
    leftMs: deadline - dependencies.now(),
  });
  const reference = `Job ${namespace}/${request.operation}`;
  run.reference = reference;
  const collection = collectionPath('/apis/batch/v1', namespace, 'jobs');
  const made = await obtainObject(run, collection, job);
  if ('ended' in made) return withReference(made.ended, reference);

  let waitsFor: string | undefined;
  const look = (jobs: readonly V1Job[], pods: readonly V1Pod[]): HookResult | undefined => {
    const found = jobs.find(({ metadata }) => metadata?.uid === made.uid);
    if (!found) return unknown('it was deleted before its end was seen');
    const [pod] = pods;
    if (pod) waitsFor = whyNotStarted(pod);
    return resultOfJob(found, pods, request, waitsFor);
  };
  const result = await awaitObjects(
    { ...run, kube: dependencies.kube },
    [
      { path: collection, fieldSelector: `metadata.name=${request.operation}` },
      { path: podsPath(namespace), labelSelector: `${hookMarks.operation}=${request.operation}` },
    ],
    (jobs = [], pods = []) => look(jobs as readonly V1Job[], pods as readonly V1Pod[]),
  );
  return withReference(result ?? unknown(overdue(run, reference)), reference);
}

/** Gives a job that we have suspended another size, or its pods another priority. */

import type { KubernetesObject } from '@kubernetes/client-node';
import { annotations } from '../contract/ids.ts';
import { KcoverError } from '../contract/errors.ts';
import { jobTitle } from '../contract/jobs.ts';
import type { ReshapeRequest, ReshapeResult } from '../contract/recovery-plan.ts';
import type { Kube } from './connection.ts';
import { isConflict } from './errors.ts';
import { jobKinds, jobPath } from './job-kinds/index.ts';
import { readJobObject } from './jobs.ts';
import { patchObject, readObject } from './requests.ts';

const tries = 10;
const refused = (because: string) => ({ kind: 'refused', because }) as const;

/** Safe to repeat: what was done before is found, and answered in the same way. A wish that cannot be met is refused with the reason. */
export async function reshapeJob(kube: Kube, request: ReshapeRequest): Promise<ReshapeResult> {
  try {
    return await reshape(kube, request);
  } catch (error) {
    // The job is as good without it: it must not wait, suspended, for a right or for an admission rule to change.
    if (error instanceof KcoverError && (error.code === 'kube.forbidden' || !error.transient)) return refused(error.because);
    throw error;
  }
}

async function reshape(kube: Kube, request: ReshapeRequest): Promise<ReshapeResult> {
  const { job, priorityClass } = request;
  if (priorityClass !== undefined && !(await hasPriorityClass(kube, priorityClass))) return refused(`there is no priority class ${priorityClass}`);
  for (let attempt = 1; ; attempt++) {
    const object = await readJobObject(kube, job);
    if (!object) return refused('the job is gone');
    const plan = planOf(object, request);
    if (plan.kind === 'refused') return plan;
    const { before, after, spec } = plan;
    const { uid, resourceVersion } = object.metadata ?? {};
    const metadata = { uid, resourceVersion, ...(after < before && { annotations: { [annotations.podsBefore]: String(before) } }) };
    try {
      await patchObject(kube, jobPath(job), { metadata, spec }, `reshape ${jobTitle(job)} in ${job.namespace}`);
      return { kind: 'reshaped', before, after };
    } catch (error) {
      if (!isConflict(error) || attempt >= tries) throw error;
    }
  }
}

/** Pods of a class that does not exist are never created. */
const hasPriorityClass = async (kube: Kube, name: string): Promise<boolean> =>
  (await readObject(kube, `/apis/scheduling.k8s.io/v1/priorityclasses/${name}`, `read the priority class ${name}`)) !== undefined;

type Plan = ReturnType<typeof refused> | { readonly kind: 'reshape'; readonly before: number; readonly after: number; readonly spec: object };

/** What to write; pure. `before` is the size that its owner gave it, however often it was made smaller. */
export function planOf(object: KubernetesObject, { job, incident, pods, priorityClass }: ReshapeRequest): Plan {
  const { isSuspended, reshaping, roles } = jobKinds[job.kind];
  const notes = object.metadata?.annotations ?? {};
  if (!isSuspended(object) || !notes[annotations.suspendedBy]?.startsWith(`${incident}#`)) return refused('it is not suspended by this incident');
  if (!reshaping) return refused(`a ${job.kind} keeps its size and its pods`);
  const now = roles(object).reduce((sum, { replicas }) => sum + replicas, 0);
  const wish = { ...(pods !== undefined && { pods }), ...(priorityClass !== undefined && { priorityClass }) };
  if (pods === undefined) {
    if (!reshaping.templates) return refused(`the pods of a ${job.kind} keep their priority`);
    return { kind: 'reshape', before: now, after: now, spec: reshaping.patch(object, wish) };
  }
  const sizes = reshaping.sizes(object);
  if (!sizes) return refused('it cannot be given another size');
  if (pods < sizes.least || pods > sizes.now) return refused(`it has ${sizes.now} pods and can be given ${sizes.least} to ${sizes.now}, not ${pods}`);
  const first = Number(notes[annotations.podsBefore]);
  return { kind: 'reshape', before: first > sizes.now ? first : sizes.now, after: pods, spec: reshaping.patch(object, wish) };
}

/** Resizes a job that kcover has suspended, or changes the priority of its pods. */

import type { KubernetesObject } from '@kubernetes/client-node';
import { annotations } from '../../contract/ids.ts';
import { KcoverError } from '../../contract/errors.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { ResizeRequest, ResizeResult } from '../../contract/recovery/plan.ts';
import type { Kube } from '../client/connection.ts';
import { isConflict } from '../client/errors.ts';
import { jobKinds, jobPath } from './kinds/index.ts';
import { readJobObject } from './jobs.ts';
import { objectPath } from '../client/request-url.ts';
import { patchObject, readObject } from '../client/requests.ts';

const tries = 10;
const refused = (because: string) => ({ kind: 'refused', because }) as const;

/** Idempotent: a repeated request finds what was done and gives the same answer. A request that cannot be met is refused with the reason. */
export async function resizeJob(kube: Kube, request: ResizeRequest): Promise<ResizeResult> {
  try {
    return await resize(kube, request);
  } catch (error) {
    return refused(lasting(error));
  }
}

/** Why it cannot be done; other errors are thrown. The resize is optional, so the job must not stay suspended until a permission or an admission rule changes. */
function lasting(error: unknown): string {
  if (error instanceof KcoverError && (error.code === 'kube.forbidden' || !error.transient)) return error.because;
  throw error;
}

async function resize(kube: Kube, request: ResizeRequest): Promise<ResizeResult> {
  const { job, priorityClass } = request;
  const classless = priorityClass === undefined ? undefined : await whyClassless(kube, priorityClass);
  for (let attempt = 1; ; attempt++) {
    const object = await readJobObject(kube, job);
    if (!object) return refused('the job is gone');
    const plan = planOf(object, request, classless);
    if (plan.kind === 'refused') return plan;
    const { before, after, ignored, spec } = plan;
    const { uid, resourceVersion } = object.metadata ?? {};
    const metadata = {
      uid,
      resourceVersion,
      ...(after < before && { annotations: { [annotations.podsBefore]: String(before) } }),
    };
    try {
      await patchObject(kube, jobPath(job), { metadata, spec }, `resize ${jobTitle(job)} in ${job.namespace}`);
      return { kind: 'resized', before, after, ...(ignored !== undefined && { ignored }) };
    } catch (error) {
      if (!isConflict(error) || attempt >= tries) throw error;
    }
  }
}

/** Pods with a priority class that does not exist are never created. */
async function whyClassless(kube: Kube, name: string): Promise<string | undefined> {
  try {
    const found = await readObject(
      kube,
      objectPath('/apis/scheduling.k8s.io/v1/priorityclasses', name),
      `read the priority class ${name}`,
    );
    return found ? undefined : `there is no priority class ${name}`;
  } catch (error) {
    return lasting(error);
  }
}

type ResizePlan =
  | ReturnType<typeof refused>
  | {
      readonly kind: 'resize';
      readonly before: number;
      readonly after: number;
      readonly ignored?: string;
      readonly spec: object;
    };

/**
 * What to write; pure. `before` is the size that its owner gave it, however often it was shrunk. `classless`: why it gets no priority class.
 * The size matters more than the priority, so it is set even if the priority cannot be.
 */
export function planOf(
  object: KubernetesObject,
  { job, incident, pods, priorityClass }: ResizeRequest,
  classless?: string,
): ResizePlan {
  const { isSuspended, resizing, roles } = jobKinds[job.kind];
  const notes = object.metadata?.annotations ?? {};
  if (!isSuspended(object) || !notes[annotations.suspendedBy]?.startsWith(`${incident}#`))
    return refused('it is not suspended by this incident');
  if (!resizing) return refused(`a ${job.kind} keeps its size and its pods`);
  const now = roles(object).reduce((sum, { replicas }) => sum + replicas, 0);
  const ignored =
    priorityClass === undefined
      ? undefined
      : resizing.templates
        ? classless
        : `the pods of a ${job.kind} keep their priority`;
  const priority = priorityClass !== undefined && ignored === undefined && { priorityClass };
  if (pods === undefined) {
    if (ignored !== undefined) return refused(ignored);
    return { kind: 'resize', before: now, after: now, spec: resizing.patch(object, { ...priority }) };
  }
  const sizes = resizing.sizes(object);
  if (!sizes) return refused('it cannot be resized');
  if (pods < sizes.least || pods > sizes.now)
    return refused(`it has ${sizes.now} pods and can have ${sizes.least} to ${sizes.now}, not ${pods}`);
  const first = Number(notes[annotations.podsBefore]);
  const before = first > sizes.now ? first : sizes.now;
  return {
    kind: 'resize',
    before,
    after: pods,
    ...(ignored !== undefined && { ignored }),
    spec: resizing.patch(object, { pods, ...priority }),
  };
}

/** The role of a pod in its job, from its labels. Pure. */

import type { PodRole } from '../../../contract/job/jobs.ts';

/** Undefined where the labels name no role. */
export const podRole = (role: string | undefined, index?: string): PodRole | undefined =>
  role === undefined ? undefined : { role, ...(index !== undefined && { index: Number(index) }) };

/** Which pod of its job one is, as its labels say. Pure. */

import type { PodRole } from '../../contract/jobs.ts';

/** Undefined where the labels name no role. */
export const podRole = (role: string | undefined, index?: string): PodRole | undefined =>
  role === undefined ? undefined : { role, ...(index !== undefined && { index: Number(index) }) };

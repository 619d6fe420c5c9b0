/** The field of the spec that suspends and resumes a job, for kinds that have one. */

import type { KubernetesObject } from '@kubernetes/client-node';
import type { JobKindEntry } from './entry.ts';

interface Suspendable extends KubernetesObject {
  readonly spec?: { readonly suspend?: boolean; readonly runPolicy?: { readonly suspend?: boolean } };
}

/** `spec.suspend`. */
export const specSuspend = {
  suspend: (suspended: boolean) => ({ suspend: suspended }),
  isSuspended: ({ spec }: Suspendable) => spec?.suspend === true,
  writes: ['suspend'],
} as const satisfies Partial<JobKindEntry>;

/** `spec.runPolicy.suspend`, as in the Kubeflow operators. */
export const runPolicySuspend = {
  suspend: (suspended: boolean) => ({ runPolicy: { suspend: suspended } }),
  isSuspended: ({ spec }: Suspendable) => spec?.runPolicy?.suspend === true,
  writes: ['runPolicy.suspend'],
} as const satisfies Partial<JobKindEntry>;

/** The field of the spec that stops a job and lets it go on, of the kinds that have one. */

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

/** `spec.runPolicy.suspend`, as the operators of Kubeflow have it. */
export const runPolicySuspend = {
  suspend: (suspended: boolean) => ({ runPolicy: { suspend: suspended } }),
  isSuspended: ({ spec }: Suspendable) => spec?.runPolicy?.suspend === true,
  writes: ['runPolicy.suspend'],
} as const satisfies Partial<JobKindEntry>;

/** One admission policy, before it is an object of Kubernetes. */

import type { V1Validation } from '@kubernetes/client-node';

/** What differs from one installation to the next, as texts of CEL. */
export interface Installation {
  /** Names of users. */
  readonly controller: string;
  readonly worker: string;
  /** The taint of a quarantine, and the key of the taint of stand-by nodes. */
  readonly taint: { readonly key: string; readonly effect: string };
  readonly standbyTaint: string;
  /** Where the agents are, and their account. */
  readonly agents: { readonly namespace: string; readonly account: string };
  /** kcover's directory on the nodes; ends without a slash. */
  readonly directory: string;
}

export interface Policy {
  readonly name: string;
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
  readonly resources: readonly { readonly apiGroup: string; readonly resource: string }[];
  /** All must hold, or the policy has nothing to say. */
  readonly conditions: Readonly<Record<string, string>>;
  readonly variables?: Readonly<Record<string, string>>;
  readonly validations: readonly V1Validation[];
}

/** Refuses with the message what the expression does not hold for. */
export const refuse = (message: string, expression: string): V1Validation => ({ expression, message, reason: 'Forbidden' });

/** One admission policy, from which the Kubernetes object is made. */

import type { V1Validation } from '@kubernetes/client-node';

/** Values that differ between installations, as CEL text. */
export interface Installation {
  /** Names of users. */
  readonly controller: string;
  readonly worker: string;
  /** The taint of a quarantine, and the key of the taint of standby nodes. */
  readonly taint: { readonly key: string; readonly effect: string };
  readonly standbyTaint: string;
  /** Namespace and service account of the agents. */
  readonly agents: { readonly namespace: string; readonly account: string };
  /** kcover's directory on the nodes; ends without a slash. */
  readonly directory: string;
}

export interface Policy {
  readonly name: string;
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
  readonly resources: readonly { readonly apiGroup: string; readonly resource: string }[];
  /** The policy applies only where all hold. */
  readonly conditions: Readonly<Record<string, string>>;
  readonly variables?: Readonly<Record<string, string>>;
  readonly validations: readonly V1Validation[];
}

/** Rejects, with the message, what the expression does not allow. */
export const refuse = (message: string, expression: string): V1Validation => ({
  expression,
  message,
  reason: 'Forbidden',
});

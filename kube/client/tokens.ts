/** Reviews tokens, and reads the pods that they are bound to. */

import type { Kube } from './connection.ts';
import { isNotFound, kubeError } from './errors.ts';

/** The result of a token review. */
export interface ReviewedToken {
  /** For our audience. */
  readonly authenticated: boolean;
  /** `system:serviceaccount:<namespace>:<name>`. */
  readonly user: string;
  /** The pod it is bound to; absent for tokens that belong to no pod. */
  readonly pod?: { readonly name: string; readonly uid: string };
  readonly node?: string;
}

/** A pod as it is now. */
export interface LivePod {
  readonly uid: string;
  /** Absent while it is not scheduled. */
  readonly node?: string;
  /** Being deleted, or its containers have ended for good. */
  readonly dead: boolean;
}

const claims = {
  podName: 'authentication.kubernetes.io/pod-name',
  podUid: 'authentication.kubernetes.io/pod-uid',
  nodeName: 'authentication.kubernetes.io/node-name',
} as const;

/** Asks the API server. Throws `KcoverError` when it does not answer. */
export async function reviewToken(kube: Kube, token: string, audience: string): Promise<ReviewedToken> {
  try {
    const { status } = await kube.authentication.createTokenReview({
      body: { spec: { token, audiences: [audience] } },
    });
    const extra = status?.user?.extra;
    const name = extra?.[claims.podName]?.[0];
    const uid = extra?.[claims.podUid]?.[0];
    const node = extra?.[claims.nodeName]?.[0];
    return {
      // A server without audience support answers without them, which does not confirm ours.
      authenticated: status?.authenticated === true && (status.audiences ?? []).includes(audience),
      user: status?.user?.username ?? '',
      ...(name !== undefined && uid !== undefined && { pod: { name, uid } }),
      ...(node !== undefined && { node }),
    };
  } catch (error) {
    throw kubeError(error, 'review a token');
  }
}

/** The pod of this name, or undefined. Throws `KcoverError`. */
export async function readLivePod(kube: Kube, namespace: string, name: string): Promise<LivePod | undefined> {
  try {
    const { metadata, spec, status } = await kube.core.readNamespacedPod({ namespace, name });
    return {
      uid: metadata?.uid ?? '',
      ...(spec?.nodeName && { node: spec.nodeName }),
      dead: metadata?.deletionTimestamp !== undefined || status?.phase === 'Succeeded' || status?.phase === 'Failed',
    };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw kubeError(error, `read pod ${namespace}/${name}`);
  }
}

import type { Api } from './api.ts';

export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface ServiceAccountRef {
  readonly namespace: string;
  readonly name: string;
}

/** A token of the service account for the API server itself, valid for a day. */
export async function accountToken(api: Api, { namespace, name }: ServiceAccountRef): Promise<string> {
  const body = { spec: { audiences: ['https://kubernetes.default.svc'], expirationSeconds: 24 * 3600 } };
  const { status } = await api.core.createNamespacedServiceAccountToken({ namespace, name, body });
  return status?.token ?? '';
}

/** The token of a projected volume: bound to the pod, so that a token review names pod and node. */
export async function podToken(api: Api, pod: PodRef, serviceAccount: string, audience: string): Promise<string> {
  const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: pod.name, uid: pod.uid };
  const body = { spec: { audiences: [audience], expirationSeconds: 24 * 3600, boundObjectRef } };
  const { status } = await api.core.createNamespacedServiceAccountToken({
    namespace: pod.namespace,
    name: serviceAccount,
    body,
  });
  return status?.token ?? '';
}

/** The connection to Kubernetes and the current namespace of its kubeconfig. */

import { KcoverError } from '../../contract/errors.ts';
import { connectKube, type Kube } from '../../kube/client/connection.ts';

export interface KubeSource {
  readonly kubeconfig: string | undefined;
  /** In a pod the service account is used, even if there is a kubeconfig in the image. */
  readonly inCluster: boolean;
  /** Of the kubeconfig; its current one otherwise. */
  readonly context?: string | undefined;
}

/** Throws `usage` for a kubeconfig that cannot be read. */
export function openKube({ kubeconfig, inCluster, context }: KubeSource): Kube {
  try {
    const where = context === undefined ? {} : { context };
    if (kubeconfig !== undefined) return connectKube({ kubeconfig, ...where });
    return connectKube({ inCluster, ...where });
  } catch (error) {
    if (error instanceof KcoverError) throw error;
    const because = error instanceof Error ? error.message : String(error);
    throw new KcoverError('usage', `the kubeconfig cannot be read: ${because}`, {
      remedy: 'name another file with --kubeconfig or KUBECONFIG',
    });
  }
}

export const currentNamespace = (kube: Kube): string =>
  kube.config.getContextObject(kube.config.getCurrentContext())?.namespace ?? 'default';

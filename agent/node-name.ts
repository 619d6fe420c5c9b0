/** The name of this node in the cluster. */

export interface NodeNameSources {
  readonly NODE_NAME?: string | undefined;
  /** For installations that migrate from the reference agent. */
  readonly FAST_RECOVERY_NODE_NAME?: string | undefined;
  readonly hostname: string;
}

/** The first that is set, in this order; an empty or blank value counts as unset. */
export function nodeName({ NODE_NAME, FAST_RECOVERY_NODE_NAME, hostname }: NodeNameSources): string {
  const named = [NODE_NAME, FAST_RECOVERY_NODE_NAME]
    .map((name) => name?.trim())
    .find((name) => name !== undefined && name !== '');
  // The kubelet registers the host name in lower case.
  return named ?? hostname.trim().toLowerCase();
}

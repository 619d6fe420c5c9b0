/** The name under which the cluster knows this node. */

export interface NodeNameSources {
  readonly NODE_NAME?: string | undefined;
  /** Read for installations that come from the reference agent. */
  readonly FAST_RECOVERY_NODE_NAME?: string | undefined;
  readonly hostname: string;
}

/** The first that is set, in this order; an empty or blank value counts as unset. */
export function nodeName({ NODE_NAME, FAST_RECOVERY_NODE_NAME, hostname }: NodeNameSources): string {
  const named = [NODE_NAME, FAST_RECOVERY_NODE_NAME].map((name) => name?.trim()).find((name) => name !== undefined && name !== '');
  // The kubelet registers the host name in lower case.
  return named ?? hostname.trim().toLowerCase();
}

/** What kcover thinks of a node: the controller tells it to the node's agent, and the agent to the pods of the node, in a file. */

import type { QuarantinedPhase } from './nodes.ts';

/** What the controller tells an agent. It has no text that a tenant wrote. */
export interface NodeNotice {
  /** `healthy`: not quarantined. `quarantined` also stands for the phases of a repair while Temporal does not answer. */
  readonly state: 'healthy' | QuarantinedPhase;
  /** RFC 3339: when kcover's quarantine began. Not known of a taint that another client set. */
  readonly since?: string;
  /** Value of the taint: the code of the fault that convicts the node, as `xid-79`, or `operator`; another one where the settings fix it. */
  readonly reason?: string;
  /** Id of the quarantine, for questions to an operator. */
  readonly incident?: string;
}

/** Below kcover's directory on the node, where the chart lets pods mount it. */
export const statusDirectory = 'status';

/** Name of the file in its directory. */
export const statusFileName = 'node.json';

/** What is in the file. */
export interface NodeStatusFile extends Omit<NodeNotice, 'state'> {
  readonly schema: 1;
  readonly node: string;
  /** `unknown`: no controller has answered for some time. */
  readonly state: NodeNotice['state'] | 'unknown';
  readonly because: string;
  /** RFC 3339. The agent writes at least once a minute, so an older file is stale. */
  readonly writtenAt: string;
  /** RFC 3339: when a controller last said what it thinks of the node; missing before the first time. */
  readonly lastAnswerAt?: string;
}

/** What people outside of the cluster are notified of: a decision, and how to stop it. Plain JSON; also the body of the format `webhook`. */

/** Name of a route: a part of the id of its workflow, and what jobs name. */
export const routeName = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;

export const severities = ['info', 'warning', 'critical'] as const;
export type NotificationSeverity = (typeof severities)[number];

export interface Notification {
  readonly schema: 1;
  /** The same for a repeat of the same state of the same incident. */
  readonly id: string;
  /** Reason of the Event, such as `RecoveryStarted`. */
  readonly reason: string;
  readonly severity: NotificationSeverity;
  /** `pytorchjob/llm in train`, or `node gpu-3`. */
  readonly about: string;
  readonly namespace?: string;
  readonly job?: string;
  readonly node?: string;
  /** Id of the incident, or of the fault. */
  readonly incident: string;
  /** What was decided, and why. */
  readonly message: string;
  /** What happens next without a person. */
  readonly next?: string;
  /** The command that stops or changes that. */
  readonly stop?: string;
  /** Address in the Temporal UI, where the settings name it. */
  readonly link?: string;
  /** RFC 3339. */
  readonly at: string;
  /** Ends what an earlier notification of the subject began. */
  readonly resolves: boolean;
  /** Further notifications that this one stands for: more than the route may carry. */
  readonly folded?: number;
}

/** Input of the workflow `notify`, of which each route has one. */
export interface NotifyInput {
  readonly route: string;
}

/** Result of `notify`, and answer of its `status` query. */
export interface NotifyStatus {
  readonly route: string;
  readonly waiting: number;
  readonly delivered: number;
  readonly failed: number;
  /** Why the last delivery failed for good. */
  readonly because?: string;
}

/** What every step before a stop receives, and what it returns. */

import type { Announcement } from '../../contract/activities.ts';
import type { eventReasons } from '../../contract/ids.ts';
import type { RecoveryPlan } from '../../contract/recovery-plan.ts';
import type { AttemptFacts, RecoveryDecision, RecoveryInput } from '../../contract/recovery.ts';
import type { Approvals } from './approval.ts';
import type { IncidentState } from './incident-state.ts';
import type { End } from './next-attempt.ts';
import type { Timeline } from './timeline.ts';

/** One stop in preparation. */
export interface Preparing {
  readonly input: RecoveryInput;
  readonly state: IncidentState;
  readonly approvals: Approvals;
  readonly timeline: Timeline;
  readonly event: (type: Announcement['type'], reason: keyof typeof eventReasons, message: string) => Announcement;
  readonly decision: Extract<RecoveryDecision, { kind: 'stop' }>;
  readonly facts: AttemptFacts;
  /** When these were seen, ms, by the clock of the worker that looked: history holds it. */
  readonly seenAt: number;
  /** Whether something changed that the decision has not seen. */
  readonly hasChanged: () => boolean;
}

/** `look again`: something that the next step depends on has changed, or may have. */
export type Prepared = 'ready' | 'look again' | End;

export type PreparationStep = (preparing: Preparing, plan: RecoveryPlan) => Promise<Prepared>;

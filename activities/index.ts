/** All activities of a worker. */

import type { Activities } from '../contract/wire/activities.ts';
import { announcementActivities, withAnnouncements } from './announcements.ts';
import { withCheckedArguments } from './arguments.ts';
import { attemptActivities } from './job/attempts.ts';
import { capacityActivities } from './recovery/capacity.ts';
import { checkpointActivities } from './recovery/await-checkpoint.ts';
import { clusterActivities } from './cluster.ts';
import { decisionActivities } from './recovery/decisions.ts';
import type { Dependencies } from './dependencies.ts';
import { withFailures } from './job/failures.ts';
import { withLife } from './heartbeats.ts';
import { incidentActivities } from './incidents.ts';
import { jobActivities } from './job/jobs.ts';
import { notificationActivities } from './notify/notifications.ts';
import { maintenanceActivities } from './node/maintenance.ts';
import { nodeActivities } from './node/nodes.ts';
import { preflightActivities } from './preflight.ts';
import { recordActivities } from './records.ts';
import { permitActivities } from './remedy/permit.ts';
import { recallActivities } from './remedy/recall.ts';
import { reservationActivities } from './node/reservations.ts';
import { waveActivities } from './recovery/join-wave.ts';
import { remedyActivities } from './remedy/index.ts';

export type { Dependencies } from './dependencies.ts';
export { directoryEvidence } from './evidence/store.ts';
export { type Meter, metered } from './meter.ts';
export { directoryRecords, type RecordStore } from './records.ts';

/** Creates all activities; they may run concurrently. */
export function createActivities(dependencies: Dependencies): Activities {
  const made = {
    ...decisionActivities(dependencies),
    ...nodeActivities(dependencies),
    ...jobActivities(dependencies),
    ...attemptActivities(dependencies),
    ...checkpointActivities(dependencies),
    ...capacityActivities(dependencies),
    ...waveActivities(dependencies),
    ...clusterActivities(dependencies),
    ...reservationActivities(dependencies),
    ...recordActivities(dependencies),
    ...permitActivities(dependencies),
    ...recallActivities(dependencies),
    ...announcementActivities(dependencies),
    ...notificationActivities(dependencies),
    ...incidentActivities(dependencies),
    ...preflightActivities(dependencies),
    ...remedyActivities(dependencies),
    ...maintenanceActivities(dependencies),
  };
  return withLife(withFailures(withAnnouncements(withCheckedArguments(made), dependencies.log)));
}

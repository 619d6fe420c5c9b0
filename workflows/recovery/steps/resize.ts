/** The size and the priority of the next attempt, set while nothing of the job runs. */

import type { IncidentRecord } from '../../../contract/recovery/recovery.ts';
import type { Step } from './step.ts';

interface ResizeData {
  readonly resized?: IncidentRecord['pods'];
}

interface ResizeChange {
  readonly kind: 'resized';
  readonly before: number;
  readonly after: number;
}

export const resize: Step<'resize', ResizeData, ResizeChange> = {
  name: 'resize',
  first: {},
  next: (data, change) =>
    change.kind === 'resized'
      ? { resized: { before: data.resized?.before ?? change.before, after: change.after } }
      : data,
  appliesTo: () => false,

  async between(preparing, { priorityClass }) {
    const { incident, tools } = preparing;
    const { nextPods: pods } = incident;
    if (pods === undefined && priorityClass === undefined) return;
    const what = [
      pods === undefined ? '' : `${pods} pods`,
      priorityClass === undefined ? '' : `priority ${priorityClass}`,
    ]
      .filter(Boolean)
      .join(', ');
    const { incident: id, job } = incident.input;
    const request = {
      incident: id,
      job,
      ...(pods !== undefined && { pods }),
      ...(priorityClass !== undefined && { priorityClass }),
    };
    const done = await tools.tolerate(tools.perform('resizeJob', `the next attempt: ${what}`, request));
    preparing.changeIncident({ kind: 'nextSizeChosen' });
    if (done?.kind !== 'resized') {
      preparing.happened('not resized', done?.because ?? 'it could not be written');
      return;
    }
    const { before, after, ignored } = done;
    const without = ignored === undefined ? '' : `; without the priority: ${ignored}`;
    preparing.happened('resized', `${what}; ${before} pods before, ${after} now${without}`);
    if (before === after) return;
    preparing.change({ kind: 'resized', before, after });
    preparing.announce(
      'Warning',
      'jobResized',
      `the job goes on with ${after} pods of ${before}: no capacity for more`,
    );
  },

  record: ({ resized }) => (resized ? { pods: resized } : {}),
};

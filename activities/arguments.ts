/** Arguments are checked before anything is done with them: anyone who can start an activity may have forged them. */

import type { Activities } from '../contract/wire/activities.ts';
import { whyNotGiven } from '../contract/wire/activity-arguments.schema.ts';
import { KcoverError } from '../contract/errors.ts';
import { type Activity, mapActivities } from './map-activities.ts';

const checked =
  (activity: Activity, name: string): Activity =>
  async (...args) => {
    const because = whyNotGiven(name, args[0]);
    if (because !== undefined) throw new KcoverError('name.invalid', because);
    return activity(...args);
  };

/** The same activities; they throw `name.invalid` for arguments that would escape a path. */
export const withCheckedArguments = (activities: Activities): Activities => mapActivities(activities, checked);

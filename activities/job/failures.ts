/** Errors of the catalogue as failures of Temporal: their kind decides whether an activity is tried again. */

import { ApplicationFailure } from '@temporalio/common';
import type { Activities } from '../../contract/wire/activities.ts';
import { KcoverError } from '../../contract/errors.ts';
import { type Activity, mapActivities } from '../map-activities.ts';

/** The failure that is recorded in history; any other error is passed on and tried again. */
export function toFailure(error: unknown): unknown {
  if (!(error instanceof KcoverError)) return error;
  return ApplicationFailure.create({
    message: `${error.message}: ${error.because}`,
    type: error.code,
    nonRetryable: !error.transient,
    details: [{ because: error.because, remedy: error.advice }],
    ...(error.retryAfterMs !== undefined && { nextRetryDelay: error.retryAfterMs }),
  });
}

const guarded =
  (activity: Activity): Activity =>
  async (...args) => {
    try {
      return await activity(...args);
    } catch (error) {
      throw toFailure(error);
    }
  };

/** The one place where errors become failures. */
export const withFailures = (activities: Activities): Activities => mapActivities(activities, guarded);

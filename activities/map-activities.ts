import type { Activities } from '../contract/wire/activities.ts';

export type Activity = (...args: readonly unknown[]) => Promise<unknown>;

/** The same activities under the same names, each wrapped. */
export const mapActivities = (
  activities: Activities,
  wrap: (activity: Activity, name: string) => Activity,
): Activities =>
  Object.fromEntries(
    Object.entries(activities as unknown as Readonly<Record<string, Activity>>).map(([name, activity]) => [
      name,
      wrap(activity, name),
    ]),
  ) as unknown as Activities;

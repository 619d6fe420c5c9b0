import { labels } from '../contract/ids.ts';
import { type JobRef, jobTitle } from '../contract/jobs.ts';
import type { Kube } from '../kube/connection.ts';
import { jobPath } from '../kube/job-kinds/index.ts';
import { askKube } from '../kube/requests.ts';

/** Writes the opt-in label of this very object: another UID is a conflict. Its time is the time of the opt-in, so it is the person's own field. */
export const labelJob = (kube: Kube, job: JobRef, value: 'true' | 'false'): Promise<unknown> =>
  askKube(
    kube,
    {
      method: 'PATCH',
      path: jobPath(job),
      query: { fieldManager: 'kcover-cli' },
      body: {
        contentType: 'application/merge-patch+json',
        text: JSON.stringify({ metadata: { uid: job.uid, labels: { [labels.cascadingRecovery]: value } } }),
      },
    },
    `label ${jobTitle(job)} in ${job.namespace}`,
  );

import { labels } from '../../contract/ids.ts';
import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { jobPath } from '../../kube/jobs/kinds/index.ts';
import { askKube } from '../../kube/client/requests.ts';

/** Writes the opt-in label; fails with a conflict when the UID has changed. The command line has a field manager of its own, so that the time of this field is the time of the opt-in. */
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

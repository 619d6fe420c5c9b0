/**
 * Jobs that another job made. Its maker writes `suspend` of what it made, and creates it anew: stopped alone it would be let go on at once.
 * So it is never recovered on its own, whatever labels it carries; its pods belong to the maker.
 */

import type { V1ObjectMeta } from '@kubernetes/client-node';
import type { JobKind, JobRef } from '../../contract/jobs.ts';

/** API group of each kind that makes jobs; the version may be newer than the one that we know. */
const makers = { JobSet: 'jobset.x-k8s.io', TrainJob: 'trainer.kubeflow.org' } as const satisfies Partial<Record<JobKind, string>>;
const kinds = Object.keys(makers).filter((name): name is keyof typeof makers => name in makers);

/** Whether jobs of the kind may have been made by another job. */
export const isMade = (kind: JobKind): boolean => kind === 'Job' || kind === 'JobSet';

/** The job that made the one with this metadata. */
export function makerOf({ namespace = '', ownerReferences = [] }: V1ObjectMeta = {}): JobRef | undefined {
  const owner = ownerReferences.find(({ controller }) => controller === true);
  const kind = kinds.find((each) => each === owner?.kind && owner.apiVersion.startsWith(`${makers[each]}/`));
  return owner && kind ? { kind, namespace, name: owner.name, uid: owner.uid } : undefined;
}

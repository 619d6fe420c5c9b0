/** Reads the job that the command line names. */

import { KcoverError } from '../../contract/errors.ts';
import { quarantineTaintKey } from '../../contract/ids.ts';
import type { JobView } from '../../contract/job/jobs.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { jobKinds, namespacePath } from '../../kube/jobs/kinds/index.ts';
import { objectPath } from '../../kube/client/request-url.ts';
import { readObject } from '../../kube/client/requests.ts';
import type { CommandContext, Typed } from '../program/command.ts';
import { type JobName, parseJobName } from './name.ts';
import { currentNamespace } from '../clients/kubernetes.ts';

/** The job that the argument names. Throws `not-found` when there is no such job. */
export async function jobTyped(typed: Typed, { session }: CommandContext, argument = 'job'): Promise<JobView> {
  const name = parseJobName(typed.argument(argument));
  const kube = await session.kube();
  return readNamed(kube, typed.option('namespace') ?? currentNamespace(kube), name);
}

/** Tries each version of the resource: a cluster has one of them, and the command line does not name it. */
async function readNamed(kube: Kube, namespace: string, { kind, name }: JobName): Promise<JobView> {
  const entry = jobKinds[kind];
  const versions = Object.values(jobKinds).filter(
    ({ group, plural }) => group === entry.group && plural === entry.plural,
  );
  for (const each of [entry, ...versions.filter((other) => other !== entry)]) {
    const object = await readObject(
      kube,
      objectPath(namespacePath(each, namespace), name),
      `read ${each.plural}/${name} in namespace ${namespace}`,
    );
    if (object) return each.view(object, { key: quarantineTaintKey, effect: 'NoSchedule' });
  }
  throw new KcoverError('not-found', `there is no ${kind} ${name} in namespace ${namespace}`, {
    what: 'there is no such job',
    remedy: `kubectl get ${entry.plural}.${entry.group} -n ${namespace}`,
  });
}

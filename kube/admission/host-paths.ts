/** Restricts pods to their own directories on the nodes. */

import { preflightDirectory } from '../../contract/preflight/preflight.ts';
import { statusDirectory } from '../../contract/node/notice.ts';
import { progressDirectory } from '../../contract/progress/progress.ts';
import { type Installation, type Policy, refuse } from './policy.ts';

/**
 * A path may contain double slashes and single dots; the server itself rejects double dots. No path below the directory of a namespace is allowed:
 * a link that one pod leaves there would be followed on the host when another pod mounts it. The status of the node is for all, read-only.
 */
export function hostPaths({ agents, directory }: Installation): Policy {
  const volumes = 'object.spec.?volumes.orValue([])';
  const status = `${directory} + "/${statusDirectory}/"`;
  const normal = 'v.hostPath.path.split("/").filter(part, part != "" && part != ".").join("/")';
  const open = [preflightDirectory, progressDirectory].map(
    (below) => `path == ${directory} + "/${lastOf(below)}/" + request.namespace + "/"`,
  );
  return {
    name: 'kcover-host-paths',
    operations: ['CREATE'],
    resources: [{ apiGroup: '', resource: 'pods' }],
    conditions: {
      hostPath: `${volumes}.exists(v, has(v.hostPath))`,
      others: `!(request.namespace == ${agents.namespace} && object.spec.?serviceAccountName.orValue("") == ${agents.account})`,
    },
    variables: {
      paths: `${volumes}.filter(v, has(v.hostPath)).map(v, "/" + ${normal} + "/")`,
      status: `${volumes}.filter(v, has(v.hostPath) && "/" + ${normal} + "/" == ${status}).map(v, v.name)`,
    },
    validations: [
      refuse(
        "of kcover's directory on the nodes a pod may mount preflight/<its namespace>, progress/<its namespace> and status, and nothing else",
        `variables.paths.all(path, !path.startsWith(${directory} + "/") || path == ${status} || ${open.join(' || ')})`,
      ),
      refuse(
        'a pod may mount the status of its node only with readOnly',
        ['containers', 'initContainers'].map((those) => isReadOnlyIn(those)).join(' &&\n'),
      ),
    ],
  };
}

const isReadOnlyIn = (those: string): string =>
  `object.spec.?${those}.orValue([]).all(c, c.?volumeMounts.orValue([]).all(m, !(m.name in variables.status) || m.?readOnly.orValue(false)))`;

const lastOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

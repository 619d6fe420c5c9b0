/** Restricts pods to their own directories on the nodes. */

import { preflightDirectory } from '../../contract/preflight/preflight.ts';
import { progressDirectory } from '../../contract/progress/progress.ts';
import { type Installation, type Policy, refuse } from './policy.ts';

/**
 * A path may contain double slashes and single dots; the server itself rejects double dots. No path below the directory of a namespace is allowed:
 * a link that one pod leaves there would be followed on the host when another pod mounts it.
 */
export function hostPaths({ agents, directory }: Installation): Policy {
  const volumes = 'object.spec.?volumes.orValue([])';
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
    variables: { paths: `${volumes}.filter(v, has(v.hostPath)).map(v, "/" + ${normal} + "/")` },
    validations: [
      refuse(
        "of kcover's directory on the nodes a pod may mount preflight/<its namespace> and progress/<its namespace>, and nothing else",
        `variables.paths.all(path, !path.startsWith(${directory} + "/") || ${open.join(' || ')})`,
      ),
    ],
  };
}

const lastOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

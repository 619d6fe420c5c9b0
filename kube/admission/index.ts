/** Admission policies: restrictions that RBAC cannot express. */

import type { V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding } from '@kubernetes/client-node';
import { quarantineTaintKey } from '../../contract/ids.ts';
import { agentNamespace, ownNamespace, type RoleWithRights, roleNames } from '../permissions.ts';
import { textOf } from './expressions.ts';
import { hostPaths } from './host-paths.ts';
import type { Installation, Policy } from './policy.ts';
import { policiesOf } from './roles.ts';

export type { Installation } from './policy.ts';

const userOf = (role: RoleWithRights): string => textOf(`system:serviceaccount:${ownNamespace}:kcover-${role}`);

/** Values of docs/reference/rbac.yaml and the default settings. */
export const byDefault: Installation = {
  controller: userOf('controller'),
  worker: userOf('worker'),
  taint: { key: textOf(quarantineTaintKey), effect: textOf('NoSchedule') },
  standbyTaint: textOf('kcover.io/spare'),
  agents: { namespace: textOf(agentNamespace), account: textOf('kcover-agent') },
  directory: textOf('/var/lib/kcover'),
};

export const admissionPolicies = (
  installation: Installation,
): (V1ValidatingAdmissionPolicy | V1ValidatingAdmissionPolicyBinding)[] =>
  [...roleNames.flatMap((role) => policiesOf(role, installation)), hostPaths(installation)].flatMap(objectsOf);

const api = 'admissionregistration.k8s.io/v1';

function objectsOf(policy: Policy): [V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding] {
  const { name, operations, resources, conditions, variables = {}, validations } = policy;
  const named = (expressions: Readonly<Record<string, string>>) =>
    Object.entries(expressions).map(([name, expression]) => ({ name, expression }));
  const rules = [...Map.groupBy(resources, ({ apiGroup }) => apiGroup)].map(([group, those]) => ({
    apiGroups: [group],
    apiVersions: ['*'],
    operations: [...operations],
    resources: those.map(({ resource }) => resource),
  }));
  return [
    {
      apiVersion: api,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: { resourceRules: rules },
        matchConditions: named(conditions),
        ...(Object.keys(variables).length > 0 && { variables: named(variables) }),
        validations: [...validations],
      },
    },
    {
      apiVersion: api,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ];
}

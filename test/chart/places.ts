/** Where the API server has the objects of the chart. */

import type { KubernetesObject } from '@kubernetes/client-node';
import { ownNamespace } from '../../kube/permissions.ts';

/** Group and version, plural, and whether it is namespaced. */
export const places: Readonly<Record<string, readonly [string, string, boolean]>> = {
  ServiceAccount: ['api/v1', 'serviceaccounts', true],
  ConfigMap: ['api/v1', 'configmaps', true],
  Secret: ['api/v1', 'secrets', true],
  Service: ['api/v1', 'services', true],
  Pod: ['api/v1', 'pods', true],
  PersistentVolumeClaim: ['api/v1', 'persistentvolumeclaims', true],
  DaemonSet: ['apis/apps/v1', 'daemonsets', true],
  Deployment: ['apis/apps/v1', 'deployments', true],
  PodDisruptionBudget: ['apis/policy/v1', 'poddisruptionbudgets', true],
  ClusterRole: ['apis/rbac.authorization.k8s.io/v1', 'clusterroles', false],
  ClusterRoleBinding: ['apis/rbac.authorization.k8s.io/v1', 'clusterrolebindings', false],
  Role: ['apis/rbac.authorization.k8s.io/v1', 'roles', true],
  RoleBinding: ['apis/rbac.authorization.k8s.io/v1', 'rolebindings', true],
  Namespace: ['api/v1', 'namespaces', false],
  NetworkPolicy: ['apis/networking.k8s.io/v1', 'networkpolicies', true],
  ValidatingAdmissionPolicy: ['apis/admissionregistration.k8s.io/v1', 'validatingadmissionpolicies', false],
  ValidatingAdmissionPolicyBinding: [
    'apis/admissionregistration.k8s.io/v1',
    'validatingadmissionpolicybindings',
    false,
  ],
  FlowSchema: ['apis/flowcontrol.apiserver.k8s.io/v1', 'flowschemas', false],
  PriorityLevelConfiguration: ['apis/flowcontrol.apiserver.k8s.io/v1', 'prioritylevelconfigurations', false],
};

/** Throws for a kind that the chart has not had so far. */
export function pathOf({ kind = '', metadata }: KubernetesObject): string {
  const place = places[kind];
  if (!place) throw new Error(`unknown kind ${kind}`);
  const [version, plural, namespaced] = place;
  return `/${version}/${namespaced ? `namespaces/${metadata?.namespace ?? ownNamespace}/` : ''}${plural}/${metadata?.name}`;
}

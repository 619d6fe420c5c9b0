/** Checks that each role has the permissions of the permission table, and that the RBAC objects that grant them exist. */

import { KcoverError } from '../../contract/errors.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { type Permission, permissions, type RoleWithRights } from '../../kube/permissions.ts';
import { clusterRoles, roles, tenantsName } from '../../kube/rbac.ts';
import { askKube, readObject } from '../../kube/client/requests.ts';
import { failed, type Finding, look, ok, warn } from './finding.ts';

const apply = 'kubectl apply -f docs/reference/rbac.yaml, or helm upgrade';

/** One verb on one resource that a role needs. */
interface RequiredAccess {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly namespace?: string;
  readonly name?: string;
  /** In the namespaces of jobs: an installation may grant it in only some of them. */
  readonly tenants?: true;
}

type Review = { readonly status?: { readonly allowed?: boolean } };

/** How kcover is installed. */
export interface Installed {
  readonly namespace: string;
  /** Prefix of the names of its objects. */
  readonly name: string;
  /** Name of the Lease. */
  readonly lease: string;
  /** Namespaces in which others report faults, by the controller's settings. */
  readonly reports: readonly string[];
}

export interface RightsExam {
  readonly kube: Kube;
  readonly installed: Installed;
  /** The role that was given on the command line; without one, every role that has rights. */
  readonly roles: readonly RoleWithRights[];
  /** A role was given on the command line, so the current user may be its service account. */
  readonly named: boolean;
}

export async function examineRights({
  kube,
  installed,
  roles: judged,
  named,
}: RightsExam): Promise<readonly Finding[]> {
  return Promise.all([
    ...judged.map((role) => look(`rights of the ${role}`, () => rightsOf(kube, role, installed, named))),
    ...judged.map((role) => look(`objects of the ${role}`, () => objectsOf(kube, role, installed))),
  ]);
}

async function rightsOf(kube: Kube, role: RoleWithRights, installed: Installed, named: boolean): Promise<Finding> {
  const self = await whoAmI(kube);
  const { namespace, name } = installed;
  const account = `system:serviceaccount:${namespace}:${name}-${role}`;
  const table: readonly Permission[] = permissions[role];
  // Whether nodes are repaired is in the worker's settings, which are not read here.
  const required = table
    .filter(({ repair }) => repair === undefined)
    .flatMap((permission) => requiredAccessOf(permission, installed));
  // An installation may name its service accounts differently, so a service account that checks one role counts as that role.
  const isRole = self === account || (named && self.startsWith('system:serviceaccount:'));
  const missing = isRole ? undefined : await unlessForbidden(() => missingFor(kube, required, account, namespace));
  const judgedSelf = missing === undefined;
  const lacks = missing ?? (await missingFor(kube, required));
  const who = judgedSelf && !isRole ? `${self} (may not check the rights of ${account})` : judgedSelf ? self : account;
  const check = `rights of the ${role}`;
  if (lacks.length === 0) return ok(check, `${who} may do all ${required.length} things that it needs`);
  const because = `${who} may not ${lacks.slice(0, 4).map(describe).join('; ')}${lacks.length > 4 ? `; and ${lacks.length - 4} more` : ''}`;
  if (!judgedSelf && lacks.every(({ tenants }) => tenants))
    return warn(check, `${because}, in every namespace`, 'nothing to do if rbac.namespaces of the chart restricts it');
  // The rights of a user who is not the role are no evidence that the role lacks rights.
  return judgedSelf && !isRole && !named
    ? warn(check, because, `kcover doctor as an administrator, or as the ${role}`)
    : failed(check, because, apply);
}

const requiredAccessOf = (
  { apiGroup, resource, verbs, names, own, tenants, reports: inReports }: Permission,
  { namespace, lease, reports }: Installed,
): RequiredAccess[] => {
  const namespaces = own ? [namespace] : inReports ? reports : [undefined];
  return verbs.flatMap((verb) =>
    namespaces.flatMap((where) =>
      (names ?? [undefined]).map((each) => {
        const name = resource === 'leases' && each !== undefined ? lease : each;
        return {
          group: apiGroup,
          resource,
          verb,
          ...(where !== undefined && { namespace: where }),
          ...(tenants && { tenants }),
          ...(name !== undefined && { name }),
        };
      }),
    ),
  );
};

const describe = ({ group, resource, verb, namespace, name }: RequiredAccess): string =>
  `${verb} ${resource}${group === '' ? '' : `.${group}`}${name === undefined ? '' : ` ${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;

/** What is not allowed to `user`; without one, to the current user. */
async function missingFor(
  kube: Kube,
  required: readonly RequiredAccess[],
  user?: string,
  namespace?: string,
): Promise<readonly RequiredAccess[]> {
  const kind = user === undefined ? 'SelfSubjectAccessReview' : 'SubjectAccessReview';
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const answers = await inParallel(
    required,
    (access) =>
      review<Review>(kube, 'authorization.k8s.io', kind, {
        resourceAttributes: attributesOf(access),
        ...(user !== undefined && { user, groups }),
      }),
    8,
  );
  return required.filter((_, index) => answers[index]?.status?.allowed !== true);
}

/** An access review has the subresource, such as `log` of pods, in a field of its own. */
function attributesOf(asked: RequiredAccess): RequiredAccess & { readonly subresource?: string } {
  const { tenants: _, ...attributes } = asked;
  const [resource = '', subresource] = attributes.resource.split('/');
  return { ...attributes, resource, ...(subresource !== undefined && { subresource }) };
}

async function whoAmI(kube: Kube): Promise<string> {
  const seen = await unlessForbidden(() =>
    review<{ readonly status?: { readonly userInfo?: { readonly username?: string } } }>(
      kube,
      'authentication.k8s.io',
      'SelfSubjectReview',
    ),
  );
  return seen?.status?.userInfo?.username ?? 'the current user';
}

const review = <T>(kube: Kube, group: string, kind: string, spec?: object): Promise<T> =>
  askKube<T>(
    kube,
    {
      method: 'POST',
      path: `/apis/${group}/v1/${kind.toLowerCase()}s`,
      body: {
        contentType: 'application/json',
        text: JSON.stringify({ apiVersion: `${group}/v1`, kind, ...(spec && { spec }) }),
      },
    },
    `create a ${kind}`,
  );

async function objectsOf(kube: Kube, role: RoleWithRights, { namespace, name }: Installed): Promise<Finding> {
  const check = `objects of the ${role}`;
  const of = (object: string): string => object.replace('kcover', name);
  // The bindings in the namespaces of jobs are not checked: each installation chooses those namespaces.
  const kinds = [...clusterRoles(), ...roles()].filter(
    ({ kind, metadata }) =>
      metadata?.name === `kcover-${role}` || (kind === 'ClusterRole' && metadata?.name === tenantsName(role)),
  );
  const paths = [
    {
      title: `ServiceAccount ${namespace}/${of(`kcover-${role}`)}`,
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${of(`kcover-${role}`)}`,
    },
    ...kinds.map(({ kind = '', metadata }) => {
      const called = of(metadata?.name ?? '');
      const where = metadata?.namespace === undefined ? '' : `/namespaces/${namespace}`;
      return {
        title: `${kind} ${called}`,
        path: `/apis/rbac.authorization.k8s.io/v1${where}/${kind.toLowerCase()}s/${called}`,
      };
    }),
  ];
  const found = await unlessForbidden(() =>
    inParallel(paths, ({ title, path }) => readObject(kube, path, `read ${title}`)),
  );
  if (found === undefined)
    return warn(check, 'the current user may not read them', 'kcover doctor as an administrator');
  const missing = paths.filter((_, index) => found[index] === undefined).map(({ title }) => title);
  return missing.length === 0
    ? ok(check, `all ${paths.length} are there`)
    : failed(check, `missing: ${missing.join(', ')}`, apply);
}

async function unlessForbidden<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof KcoverError && error.code === 'kube.forbidden') return undefined;
    throw error;
  }
}

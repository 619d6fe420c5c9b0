/** Checks what controllers, workers and the command line need: Temporal, Kubernetes, and that both belong to one installation. */

import { clusterUid } from '../../kube/client/connection.ts';
import { ownNamespace, permissions, type RoleWithRights } from '../../kube/permissions.ts';
import { recordedUid } from '../clients/cluster-identity.ts';
import type { Session } from '../clients/session.ts';
import type { AnySettings, Exam } from './exam.ts';
import { failed, type Finding, look, ok, warn } from './finding.ts';
import { examineJobKinds } from './job-kinds.ts';
import { examineKubernetes } from './kubernetes.ts';
import { examineRights } from './rights.ts';
import { examineTemporal } from './temporal.ts';

export async function examineCluster(exam: Exam, settings: AnySettings): Promise<readonly Finding[]> {
  const { session, role, fix } = exam;
  const taskQueue = (settings.worker ?? settings.controller)?.temporal.taskQueue ?? exam.taskQueue;
  const election = settings.controller?.leaderElection;
  const namespace = exam.namespace ?? election?.namespace ?? ownNamespace;
  const reports = settings.controller?.nodes.ascend.namespaces ?? [];
  const installed = { namespace, name: exam.name, lease: election?.name ?? exam.name, reports };
  const judged = role === undefined ? (Object.keys(permissions) as RoleWithRights[]) : role === 'agent' ? [] : [role];
  const [ofTemporal, ofKubernetes] = await Promise.all([
    connected('temporal', async () =>
      examineTemporal({ client: await session.temporal(), target: await session.target(), taskQueue, fix }),
    ),
    connected('kubernetes', async () => {
      const kube = await session.kube();
      const findings = await examineKubernetes(kube, {
        namespace: election?.namespace ?? namespace,
        name: installed.lease,
      });
      if (findings[0]?.unreachable) return findings;
      const [rights, kinds] = await Promise.all([
        examineRights({ kube, installed, roles: judged, named: role !== undefined }),
        examineJobKinds(kube),
      ]);
      return [...findings, ...rights, ...kinds];
    }),
  ]);
  const both = [...ofTemporal, ...ofKubernetes].some(
    ({ check, result }) => (check === 'temporal' || check === 'kubernetes') && result === 'failed',
  )
    ? []
    : [await look('cluster', () => sameCluster(session))];
  return [...ofTemporal, ...ofKubernetes, ...both];
}

/** The findings, or one finding when the connection fails. */
async function connected(check: string, findings: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  let found: readonly Finding[] = [];
  const failure = await look(check, async () => {
    found = await findings();
    return ok(check, '');
  });
  return failure.result === 'ok' ? found : [failure];
}

async function sameCluster(session: Session): Promise<Finding> {
  const [kube, client] = await Promise.all([session.kube(), session.temporal()]);
  const [uid, recorded] = await Promise.all([clusterUid(kube), recordedUid(client)]);
  const { namespace } = client.options;
  if (recorded === undefined)
    return warn(
      'cluster',
      `Temporal namespace ${namespace} serves no cluster yet`,
      'start a kcover worker, which claims it',
    );
  if (recorded === uid) return ok('cluster', `Temporal namespace ${namespace} serves this cluster, ${uid}`);
  return failed(
    'cluster',
    `Temporal namespace ${namespace} serves the cluster ${recorded}, and this one is ${uid}`,
    'use one Temporal namespace for each cluster',
  );
}

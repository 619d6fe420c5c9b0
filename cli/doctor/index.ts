/** Looks at everything that kcover needs and says of each what is wrong, why, and what to try. Changes nothing unless told to. */

import { KcoverError } from '../../contract/errors.ts';
import { clusterUid } from '../../kube/connection.ts';
import { ownNamespace, permissions, type Role as RoleWithRights } from '../../kube/permissions.ts';
import { recordedUid } from '../cluster-identity.ts';
import type { Environment } from '../environment.ts';
import { Findings } from '../exit.ts';
import type { Session } from '../session.ts';
import { readSettings, type Role, type Settings } from '../settings-file.ts';
import { examineAgent } from './agent.ts';
import { certificateFinding } from './certificate.ts';
import { failed, type Finding, look, ok, warn } from './finding.ts';
import { examineKubernetes } from './kubernetes.ts';
import { examineRights } from './rights.ts';
import { examineTemporal } from './temporal.ts';

export interface Exam {
  readonly environment: Environment;
  readonly session: Session;
  readonly role: Role | undefined;
  /** Settings file of that role. */
  readonly config: string | undefined;
  /** Where kcover itself runs, if it was said. */
  readonly namespace: string | undefined;
  /** What the names of its objects begin with. */
  readonly name: string;
  readonly taskQueue: string;
  readonly hostRoot: string;
  readonly fix: boolean;
}

type AnySettings = { readonly [R in Role]?: Settings<R> };

export async function examine(exam: Exam): Promise<readonly Finding[]> {
  const { environment, session, role, fix } = exam;
  const { settings, finding } = await settingsOf(exam);
  const here = [
    ok('versions', `kcover ${environment.version}, Node ${process.versions.node}, ${process.platform} ${process.arch}`),
    ...(finding ? [finding] : []),
  ];
  if (role === 'agent') return settings.agent ? [...here, ...(await examineAgent(settings.agent, exam.hostRoot))] : here;

  const taskQueue = (settings.worker ?? settings.controller)?.temporal.taskQueue ?? exam.taskQueue;
  const election = settings.controller?.leaderElection;
  const namespace = exam.namespace ?? election?.namespace ?? ownNamespace;
  const installed = { namespace, name: exam.name, lease: election?.name ?? exam.name };
  const judged = role === undefined ? (Object.keys(permissions) as RoleWithRights[]) : [role];
  const [ofTemporal, ofKubernetes] = await Promise.all([
    connected('temporal', async () => examineTemporal({ client: await session.temporal(), target: await session.target(), taskQueue, fix })),
    connected('kubernetes', async () => {
      const kube = await session.kube();
      const findings = await examineKubernetes(kube, { namespace: election?.namespace ?? namespace, name: installed.lease });
      if (findings[0]?.unreachable) return findings;
      return [...findings, ...(await examineRights({ kube, installed, roles: judged, named: role !== undefined }))];
    }),
  ]);
  const both = [...ofTemporal, ...ofKubernetes].some(({ check, result }) => (check === 'temporal' || check === 'kubernetes') && result === 'failed')
    ? []
    : [await look('cluster', () => sameCluster(session))];
  // In its pod: elsewhere the files of the controller are not there.
  const certificate = settings.controller && exam.config !== undefined ? [await certificateOf(settings.controller)] : [];
  return [...here, ...ofTemporal, ...ofKubernetes, ...both, ...certificate];
}

const certificateOf = ({ intake }: Settings<'controller'>): Promise<Finding> =>
  certificateFinding('certificate of the intake', intake.tls.certFile, Date.now());

/** What cannot even be connected to is one finding. */
async function connected(check: string, findings: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  let found: readonly Finding[] = [];
  const failure = await look(check, async () => {
    found = await findings();
    return ok(check, '');
  });
  return failure.result === 'ok' ? found : [failure];
}

async function settingsOf({ role, config }: Exam): Promise<{ settings: AnySettings; finding?: Finding }> {
  if (role === undefined) return { settings: {} };
  try {
    const { settings } = await readSettings(role, config);
    return { settings: { [role]: settings }, ...(config !== undefined && { finding: ok('settings', `${config} is valid for a ${role}`) }) };
  } catch (error) {
    if (!(error instanceof KcoverError)) throw error;
    const because = error instanceof Findings ? `${config}: ${error.message}` : error.because;
    return { settings: {}, finding: failed('settings', because, `kcover config check ${role} ${config}`) };
  }
}

async function sameCluster(session: Session): Promise<Finding> {
  const [kube, client] = await Promise.all([session.kube(), session.temporal()]);
  const [uid, recorded] = await Promise.all([clusterUid(kube), recordedUid(client)]);
  const { namespace } = client.options;
  if (recorded === undefined) return warn('cluster', `Temporal namespace ${namespace} serves no cluster yet`, 'start a kcover worker, which claims it');
  if (recorded === uid) return ok('cluster', `Temporal namespace ${namespace} serves this cluster, ${uid}`);
  return failed(
    'cluster',
    `Temporal namespace ${namespace} serves the cluster ${recorded}, and this one is ${uid}`,
    'use one Temporal namespace for each cluster',
  );
}

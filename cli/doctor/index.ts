/** Checks everything that kcover needs, with a reason and a remedy for each problem. Changes nothing without `--fix`. */

import { KcoverError } from '../../contract/errors.ts';
import { Findings } from '../program/exit.ts';
import { readSettings, type Settings } from '../settings/file.ts';
import { examineAgent } from './agent.ts';
import { certificateFinding } from './certificate.ts';
import type { AnySettings, Exam } from './exam.ts';
import { failed, type Finding, ok } from './finding.ts';

export async function examine(exam: Exam): Promise<readonly Finding[]> {
  const { settings, finding } = await settingsOf(exam);
  const here = [
    ok(
      'versions',
      `kcover ${exam.environment.version}, Node ${process.versions.node}, ${process.platform} ${process.arch}`,
    ),
    ...(finding ? [finding] : []),
  ];
  if (exam.role === 'agent')
    return settings.agent ? [...here, ...(await examineAgent(settings.agent, exam.hostRoot))] : here;

  // The image of the agents has no client libraries for this.
  const { examineCluster } = await import('./cluster.ts');
  const ofCluster = await examineCluster(exam, settings);
  // Only with the controller's settings file, which its pod has: elsewhere its certificate files do not exist.
  const certificate =
    settings.controller && exam.config !== undefined ? [await certificateOf(settings.controller)] : [];
  return [...here, ...ofCluster, ...certificate];
}

const certificateOf = ({ intake }: Settings<'controller'>): Promise<Finding> =>
  certificateFinding('certificate of the intake', intake.tls.certFile, Date.now());

async function settingsOf({ role, config }: Exam): Promise<{ settings: AnySettings; finding?: Finding }> {
  if (role === undefined) return { settings: {} };
  try {
    const { settings } = await readSettings(role, config);
    return {
      settings: { [role]: settings },
      ...(config !== undefined && { finding: ok('settings', `${config} is valid for a ${role}`) }),
    };
  } catch (error) {
    if (!(error instanceof KcoverError)) throw error;
    const because = error instanceof Findings ? `${config}: ${error.message}` : error.because;
    return { settings: {}, finding: failed('settings', because, `kcover config check ${role} ${config}`) };
  }
}

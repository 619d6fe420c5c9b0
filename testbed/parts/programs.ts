import type { OnProgress } from './cache.ts';
import { readEnvironment } from './environment.ts';
import { kubernetesPrograms, type KubernetesPrograms } from './kubernetes.ts';
import { setDefinitions } from './set-definitions.ts';
import { temporalProgram } from './temporal.ts';
import { trainingOperatorProgram, type TrainingOperatorProgram } from './training-operator.ts';

/** Paths of all programs that a test cluster consists of. */
export interface Programs extends KubernetesPrograms, TrainingOperatorProgram {
  readonly temporal: string;
  /** Directory with further definitions, of kinds whose controllers do not run. */
  readonly setDefinitions: string;
}

/** Finds, fetches or builds everything; instant when it is cached. */
export async function obtainPrograms(onProgress: OnProgress): Promise<Programs> {
  const environment = readEnvironment();
  // The download runs beside the builds; the builds run one after the other because they would compete for the cores.
  const downloading = temporalProgram(environment, onProgress);
  const building = kubernetesPrograms(environment, onProgress).then(async (kubernetes) => ({
    ...kubernetes,
    ...(await trainingOperatorProgram(environment, onProgress)),
    setDefinitions: await setDefinitions(environment, onProgress),
  }));
  const [temporal, built] = await Promise.all([downloading, building]);
  return { temporal, ...built };
}

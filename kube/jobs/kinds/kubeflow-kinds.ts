/** The kinds of the Kubeflow training operator. Source of its behaviour, and tested against: version 1.8.1. */

import { kubeflowKind } from './kubeflow-kind.ts';

/**
 * Deleted pods: the operator counts a pod that is being deleted as failed (an MPI pod once it ended with an error). PyTorchJob and PaddleJob restart
 * a failed pod, unless its role has Never, or ExitCode and it ended with a code below 128. The other kinds fail the job. With ExitCode
 * MPIJob and XGBoostJob may not, but that depends on the codes of all their pods, which kcover does not rely on.
 */
export const kubeflowKinds = {
  PyTorchJob: kubeflowKind({
    kind: 'PyTorchJob',
    unprotected: 'with restart policy Never, or ExitCode and a code below 128, the first rank that dies fails it',
    roles: 'pytorchReplicaSpecs',
    container: 'pytorch',
    fillsIn: { restartPolicy: 'OnFailure' },
    recreatesWith: ['OnFailure', 'Always'],
    succeedsWith: [{ role: 'master' }, { role: 'worker', given: 'elasticPolicy' }],
  }),
  TFJob: kubeflowKind({
    kind: 'TFJob',
    unprotected:
      'with restart policy Never, or ExitCode and a code below 128, the first rank that dies fails it, and a drain fails it with any policy',
    roles: 'tfReplicaSpecs',
    container: 'tensorflow',
    fillsIn: { restartPolicy: 'Never' },
    recreatesWith: [],
    succeedsWith: [
      { role: 'chief' },
      { role: 'master' },
      { role: 'worker', index: 0, unless: { successPolicy: 'AllWorkers' } },
    ],
  }),
  MPIJob: kubeflowKind({
    kind: 'MPIJob',
    unprotected: 'with restart policy Never an mpirun that loses a worker fails it, and an eviction with any policy',
    roles: 'mpiReplicaSpecs',
    container: 'mpi',
    fillsIn: { restartPolicy: 'Never', replicas: { worker: 0 } },
    recreatesWith: [],
    succeedsWith: [{ role: 'launcher' }],
  }),
  XGBoostJob: kubeflowKind({
    kind: 'XGBoostJob',
    unprotected:
      'with restart policy Never, or ExitCode and a code below 128, the first rank that dies fails it, and a drain or an eviction fails it with any policy',
    roles: 'xgbReplicaSpecs',
    container: 'xgboost',
    fillsIn: { restartPolicy: 'Never' },
    recreatesWith: [],
    succeedsWith: [{ role: 'master' }],
  }),
  PaddleJob: kubeflowKind({
    kind: 'PaddleJob',
    unprotected: 'with restart policy Never, or ExitCode and a code below 128, the first rank that dies fails it',
    roles: 'paddleReplicaSpecs',
    container: 'paddle',
    fillsIn: { restartPolicy: 'OnFailure' },
    recreatesWith: ['OnFailure', 'Always'],
    succeedsWith: [{ role: 'master' }],
  }),
};

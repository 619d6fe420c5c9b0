/** A trainer that is a shell script: real containers and signals, and a start within a second. */

import type { V1Container, V1NodeAffinity, V1PodSpec } from '@kubernetes/client-node';
import type { KubeflowJobManifest } from '../../testbed/job-manifests.ts';
import { type DebianImage, debianImage } from '../../testbed/parts/images.ts';
import { gpuResource } from '../../testbed/real-nodes/devices.ts';
import { optIn } from '../support/live-kcover.ts';

/** The init container that the training operator gives to workers looks for the master with this program. */
const nslookup = String.raw`printf '#!/bin/sh\nexec getent hosts "$1"\n' > "$1/usr/local/bin/nslookup" && chmod 755 "$1/usr/local/bin/nslookup"`;

export const obtainShellImage = (onProgress: (line: string) => void): Promise<DebianImage> =>
  debianImage({ packages: [], hooks: [nslookup] }, onProgress);

/** Saves every 20 steps and on SIGTERM, begins from the last saved step, and runs the commands in the file `<job>-<rank>.order`. */
const script = String.raw`
rank=$((REPLICA_INDEX + $RANK_OFFSET))
place=/kcover/$JOB_NAME-$rank.json
saved=/checkpoints/$JOB_NAME-$rank
now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }
tell() {
  printf '{"step":%d,"checkpointStep":%d,"checkpointAt":"%s","at":"%s","phase":"training"}' $step $checkpoint $savedAt $(now) >$place.part && mv $place.part $place
}
save() {
  echo $step >$saved.part && mv $saved.part $saved
  checkpoint=$step savedAt=$(now)
  tell
  echo "saved step $step"
}
step=$(cat $saved 2>/dev/null || echo 0) checkpoint=$step savedAt=$(now) ending=
echo "begins with step $step"
trap 'ending=yes' TERM
while [ -z "$ending" ]; do
  sleep 0.2
  step=$((step + 1))
  echo "step $step"
  if [ $((step % 20)) = 0 ]; then save; else tell; fi
  if [ -e $saved.order ]; then mv $saved.order $saved.done && . $saved.done; fi
done
echo 'told to end'
sleep 2
save
`;

export interface ShellTrainerOptions {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  /** A directory that all nodes see. */
  readonly checkpoints: string;
  /** The only nodes for its pods. */
  readonly on?: readonly string[];
  /** Preferred node of each role. */
  readonly prefers?: Readonly<Record<'Master' | 'Worker', string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly graceSeconds?: number;
  readonly limits?: Readonly<Record<string, string>>;
}

/** A PyTorchJob of a master and a worker. */
export const shellTrainer = (options: ShellTrainerOptions): KubeflowJobManifest => ({
  apiVersion: 'kubeflow.org/v1',
  kind: 'PyTorchJob',
  metadata: { name: options.name, namespace: options.namespace, labels: optIn, annotations: options.annotations ?? {} },
  spec: {
    runPolicy: { cleanPodPolicy: 'None' },
    pytorchReplicaSpecs: {
      Master: { replicas: 1, restartPolicy: 'OnFailure', template: { spec: podSpec(options, 'Master') } },
      Worker: { replicas: 1, restartPolicy: 'OnFailure', template: { spec: podSpec(options, 'Worker') } },
    },
  },
});

function podSpec(
  { name, namespace, image, checkpoints, on, prefers, graceSeconds = 20, limits }: ShellTrainerOptions,
  role: 'Master' | 'Worker',
): V1PodSpec {
  const label = (key: string) => ({ fieldRef: { fieldPath: `metadata.labels['training.kubeflow.org/${key}']` } });
  const container: V1Container = {
    name: 'pytorch',
    image,
    imagePullPolicy: 'IfNotPresent',
    // The name makes the process recognisable in the list of a node's processes.
    command: ['/bin/sh', '-c', script, name],
    env: [
      { name: 'JOB_NAME', valueFrom: label('job-name') },
      { name: 'REPLICA_INDEX', valueFrom: label('replica-index') },
      { name: 'RANK_OFFSET', value: role === 'Worker' ? '1' : '0' },
    ],
    resources: { limits: { ...limits, [gpuResource]: '1' } },
    volumeMounts: [
      { name: 'progress', mountPath: '/kcover' },
      { name: 'checkpoints', mountPath: '/checkpoints' },
    ],
  };
  const named = (node: string) => ({ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] });
  const nodeAffinity: V1NodeAffinity = {
    ...(on && { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: on.map(named) } }),
    ...(prefers && {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: named(prefers[role]) }],
    }),
  };
  return {
    terminationGracePeriodSeconds: graceSeconds,
    affinity: { nodeAffinity },
    containers: [container],
    volumes: [
      { name: 'progress', hostPath: { path: `/var/lib/kcover/progress/${namespace}`, type: 'DirectoryOrCreate' } },
      { name: 'checkpoints', hostPath: { path: checkpoints } },
    ],
  };
}

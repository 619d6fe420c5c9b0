/** A trainer that only prints, in real containers: lines of recorded logs with growing steps. */

import { readFileSync } from 'node:fs';
import type { V1PodSpec } from '@kubernetes/client-node';
import type { KubeflowJobManifest } from '../../testbed/job-manifests.ts';
import { gpuResource } from '../../testbed/real-nodes/devices.ts';
import { optIn } from '../support/live-kcover.ts';

const recorded = (file: string): string[] =>
  readFileSync(new URL(`../fixtures/logs/${file}`, import.meta.url), 'utf8').split('\n');

const find = (file: string, text: string): string => {
  const line = recorded(file).find((each) => each.includes(text));
  if (line === undefined) throw new Error(`no line of ${file} has ${text}`);
  return line;
};

/** With STEP where the recorded line has its number. */
const stepLine = find('megatron.log', 'iteration      201/').replace('     201/', ' STEP/');
const savedLine = find('megatron.log', 'successfully saved checkpoint').replace(
  /iteration +\d+ to/,
  'iteration STEP to',
);

/** Lines of rank 0: the collective that timed out, and where its process group was. */
export const watchdogLines: readonly string[] = recorded('watchdog.log').slice(0, 2);

/** A runtime cuts lines at 16 KiB. A long one has three parts, and its step in the last or in the first of them. */
const longLine = 40_000;

/**
 * The worker, which is the last rank, prints the steps, and the master the checkpoints of the steps that the worker has made. Each runs the commands
 * in its file of orders, and both begin with the last saved step. Two of 14 lines are long.
 */
const script = String.raw`
at=/checkpoints/$JOB_NAME
step=$(cat $at-saved 2>/dev/null || echo 100)
saved=$step
pad=$(head -c ${longLine} /dev/zero | tr '\0' x)
obey() { if [ -e $at-$ROLE.order ]; then mv $at-$ROLE.order $at-$ROLE.obeyed && . $at-$ROLE.obeyed; fi; }
train() {
  step=$((step + 1))
  line=$(echo '${stepLine}' | sed "s/STEP/$step/")
  case $((step % 14)) in
    0) printf '%s\r%s\n' "$pad" "$line" ;;
    1) printf '%s%s\n' "$line" "$pad" ;;
    *) echo "$line" ;;
  esac
  echo $step >$at-part && mv $at-part $at-step
}
save() {
  step=$(cat $at-step 2>/dev/null || echo 0)
  if [ $((step / 10 * 10)) -gt $saved ]; then
    saved=$((step / 10 * 10))
    echo $saved >$at-part-saved && mv $at-part-saved $at-saved
    echo '${savedLine}' | sed "s/STEP/$saved/"
  fi
}
# The step of an attempt before this one; the worker waits until the master runs.
if [ $ROLE = master ]; then rm -f $at-step; fi
while :; do
  obey
  if [ $ROLE = master ]; then save; else train; fi
  sleep $PAUSE
done
`;

export interface PrintingTrainer {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  /** A directory that all nodes see. */
  readonly checkpoints: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Between two steps, seconds. */
  readonly pause: number;
}

/** A PyTorchJob of a master and a worker, without a progress file. */
export const printingTrainer = (options: PrintingTrainer): KubeflowJobManifest => ({
  apiVersion: 'kubeflow.org/v1',
  kind: 'PyTorchJob',
  metadata: { name: options.name, namespace: options.namespace, labels: optIn, annotations: options.annotations ?? {} },
  spec: {
    runPolicy: { cleanPodPolicy: 'None' },
    pytorchReplicaSpecs: {
      Master: { replicas: 1, restartPolicy: 'OnFailure', template: { spec: podSpec(options, 'master') } },
      Worker: { replicas: 1, restartPolicy: 'OnFailure', template: { spec: podSpec(options, 'worker') } },
    },
  },
});

const podSpec = ({ image, checkpoints, name, pause }: PrintingTrainer, role: 'master' | 'worker'): V1PodSpec => ({
  terminationGracePeriodSeconds: 2,
  containers: [
    {
      name: 'pytorch',
      image,
      imagePullPolicy: 'IfNotPresent',
      command: ['/bin/sh', '-c', script, name],
      env: [
        { name: 'JOB_NAME', value: name },
        { name: 'ROLE', value: role },
        { name: 'PAUSE', value: String(pause) },
      ],
      resources: { limits: { [gpuResource]: '1' } },
      volumeMounts: [{ name: 'checkpoints', mountPath: '/checkpoints' }],
    },
  ],
  volumes: [{ name: 'checkpoints', hostPath: { path: checkpoints } }],
});

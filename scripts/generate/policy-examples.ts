/** Examples of everything that decides a recovery, for the reference page. A test parses each of them as kcover would. */

import {
  capacityChoices,
  checkpointStrategies,
  hangResponses,
  slowResponses,
  overrideAnnotations as ours,
  recoveryModes,
  restartLevels,
  referenceOverrides as theirs,
} from '../../contract/job/job-overrides.ts';
import { jobKinds } from '../../contract/job/jobs.ts';
import { logChoices } from '../../contract/progress/logs.ts';

/** A value in the form of the settings file, in YAML on one line, and its effect. */
export type SettingExample = readonly [value: string, does: string];

/** By the path below `recovery`. */
export const settingExamples: Readonly<Record<string, SettingExample>> = {
  correlation: ['2s', 'a pod that fails waits 2 s for a line of its node, and both become one incident'],
  silentAgent: ['5m', 'a pod that fails on a node with a silent agent waits up to 5 min for it'],
  attempts: ['2', 'an incident that would need a third stop is escalated'],
  mode: ['force', 'pods are deleted without grace; no final checkpoint on termination is awaited'],
  overdue: ['person', 'pods that are left after `deadlines.stop` are named, and the incident is escalated'],

  'budget.recoveries': [
    '3',
    'the fourth for user code in `window` is refused, until the oldest leaves the window or a person asks; the same for recoveries of unknown cause',
  ],
  'budget.hardware': ['10', 'the eleventh in `window` for broken hardware is refused'],
  'budget.platform': ['10', 'the same for evictions, preemption and nodes that are not ready'],
  'budget.user': ['2', 'user code has two; faults of unknown cause keep `recoveries`'],
  'budget.unknown': ['2', 'faults of unknown cause have two; user code keeps `recoveries`'],
  'budget.crashLoop': [
    '2',
    'when it crashes a third time without a newer checkpoint, that is refused until a person asks for it',
  ],
  'budget.total': ['10', 'after ten recoveries in its life a job is left to a person'],
  'budget.label': ['2', 'the need-recovery label has two; `kcover recover` has no limit'],
  'budget.window': ['24h', 'recoveries are counted over a day'],
  'budget.backoff.first': ['1m', 'a minute passes between the end of the first recovery and the second'],
  'budget.backoff.most': ['30m', 'the pauses grow: 30 s, 1 min, 2 min, up to half an hour'],

  'approval.dead': ['256', 'a person is asked before a job of 256 GPUs or more is stopped, even when it is dead'],
  'approval.degrading': ['64', 'the same from 64 GPUs on while it still runs on a node that may fail'],
  'approval.slow': ['0', 'a person is asked before any slow job is stopped'],
  'approval.within': ['2h', 'the question stands for two hours'],
  'approval.otherwise': ['approve', 'without an answer the recovery goes on'],

  'checkpoint.strategy': [
    'on-termination',
    'the job is stopped with grace, and the checkpoint that it saves then is awaited',
  ],
  'checkpoint.most': ['30m', 'a checkpoint that is more than half an hour away is not waited for'],
  'checkpoint.acknowledged': ['3m', 'the next attempt waits up to 3 min for the report that the last step was saved'],
  'checkpoint.mtbf': [
    '20m',
    'a degrading node is expected to end the job in 20 min, so that waiting is rarely worth it',
  ],
  'checkpoint.slowdown': ['0.5', 'a slow node is expected to cost half of the speed, so that waiting costs more'],

  'capacity.check': ['false', 'capacity is not looked up: the pods wait for the scheduler'],
  'capacity.short': ['shrink', 'a job that still runs goes on with fewer pods, where it says how few'],
  'capacity.dead': [
    'standby',
    'a dead job gets standby nodes when they give capacity for all its pods, and waits otherwise',
  ],
  'capacity.standbyTaint': ['example.com/reserve', 'nodes with this taint are standby nodes'],
  'capacity.priorityClass': ['recovered', 'the pods of a job that was suspended and let go on have this class'],

  'waves.pods': ['128', 'after a rack has failed, jobs of at most 128 pods together are stopped at once'],
  'waves.every': ['3m', 'the next of them begin three minutes later'],
  'waves.most': ['30m', 'a job that has waited for half an hour is stopped, whatever the others do'],

  'levels.first': ['pod', 'the broken pods alone are restarted first, where the kind of job allows it'],
  'levels.process': ['90s', 'processes have 90 s to pass the last step by themselves'],
  'levels.pod': ['3m', 'when the broken pods do not run again in 3 min, the whole job is restarted'],

  'hang.response': ['recover', 'stalled training is a fault like any other'],

  'jobMay.mode': ['[grace, off]', 'a job may be left alone, and its own request never kills it'],
  'jobMay.checkpoint': ['[fresh, on-termination]', 'no job may ask for a stop without a checkpoint'],
  'jobMay.capacity': ['[hold, shrink]', 'no job may request standby nodes'],
  'jobMay.level': ['[job]', 'the whole job is restarted, whatever it asks for'],
  'jobMay.hang': ['[ignore, notify]', 'no job may ask to be restarted when it hangs'],
  'jobMay.suppression': ['[pod/*, xid/94]', 'a job may let its own failures, and Xid 94, come to nothing for a while'],
  'jobMay.retries': ['5', 'a job that asks for 50 gets 5, and the incident says so'],

  ...Object.fromEntries(
    jobKinds.map((kind) => [
      `stop.${kind}`,
      ['delete-collection', 'its pods are deleted, where its controller survives that'],
    ]),
  ),

  'deadNode.force': ['false', 'pods on dead nodes stay Terminating until a person looks'],
  'deadNode.after': ['2m', 'a node must have been silent for 2 min before its pods are given up'],
  'deadNode.grace': ['1m', 'pods on dead nodes get a minute of their grace period'],

  'unsafeSuspend.Job': [
    'stop',
    'a large batch Job with OnFailure and a low backoffLimit is stopped all the same, and may be failed by its own controller',
  ],
  'unsafeSuspend.JobSet': ['stop', 'the same for a JobSet'],
  'unsafeSuspend.MPIJobV2beta1': ['stop', 'an MPIJob whose launcher may not fail once is stopped all the same'],
  'unsafeSuspend.TrainJob': [
    'stop',
    'TrainJobs are stopped: the backoffLimit of their runtimes is known to be high enough',
  ],
  'evidence.within': ['0s', 'nothing is kept, and no stop waits for it'],
  'evidence.directory': ['/mnt/evidence', 'a volume that all workers share'],
  'evidence.keep': ['720h', 'evidence is kept for 30 days'],
  'evidence.most': ['17179869184', 'the store has 16 GiB'],
  'evidence.share': ['50', 'one namespace may have half of it'],
  'evidence.redact': ["['acme-[0-9a-f]{32}']", 'keys of this form are redacted too'],

  'verify.first': ['30m', 'loading a large model may take half an hour'],
  'verify.stall': ['20m', 'twenty minutes without a step are a stall'],
  'verify.most': ['4h', 'a job may need four hours to get back to where it was'],

  'deadlines.hold': ['4h', 'what is held or without capacity is escalated after four hours'],
  'deadlines.stop': ['20m', 'pods with a grace period of 15 min have their time'],
  'deadlines.restart': ['20m', 'large images may take 20 min to pull'],
  'deadlines.placement': ['2h', 'without capacity for two hours the incident is escalated'],
};

/** A label or annotation with which a job overrides a setting. */
export interface OverrideExample {
  /** Accepted values. */
  readonly values: string;
  readonly means: string;
  /** The setting that limits it. */
  readonly limit?: string;
  /** Labels or annotations of the example, and their effect. */
  readonly example: Readonly<Record<string, string>>;
  readonly does: string;
}

export const annotationExamples: Readonly<Record<keyof typeof ours, OverrideExample>> = {
  mode: {
    values: recoveryModes.join(', '),
    means:
      'how its pods are stopped. off: nothing is done unless a person asks; the incident says what would have been',
    limit: 'recovery.jobMay.mode',
    example: { [ours.mode]: 'force' },
    does: 'its pods go at once, with nothing to save',
  },
  checkpoint: {
    values: checkpointStrategies.join(', '),
    means: 'what is saved before a stop',
    limit: 'recovery.jobMay.checkpoint',
    example: { [ours.checkpoint]: 'on-termination' },
    does: 'its trainer saves on SIGTERM, and that is awaited',
  },
  capacity: {
    values: capacityChoices.join(', '),
    means: 'what is done without capacity for a whole attempt, whether it still runs or not',
    limit: 'recovery.jobMay.capacity',
    example: { [ours.capacity]: 'shrink', [ours.minReplicas]: '4' },
    does: 'without capacity for all it goes on with as many pods as fit, at least 4',
  },
  minReplicas: {
    values: 'a whole number from 1',
    means: 'pods of the whole job that it needs at least',
    example: { [ours.minReplicas]: '4' },
    does: 'it is never made smaller than 4 pods',
  },
  allowedSizes: {
    values: 'numbers of pods with commas, at most 50',
    means: 'sizes of the whole job with which it can run',
    example: { [ours.allowedSizes]: '8,4,2' },
    does: 'with capacity for 7 it goes on with 4',
  },
  level: {
    values: restartLevels.join(', '),
    means: 'the gentlest restart that is tried',
    limit: 'recovery.jobMay.level',
    example: { [ours.level]: 'pod' },
    does: 'a broken worker is replaced first, the whole job when that does not help',
  },
  hang: {
    values: hangResponses.join(', '),
    means: 'what is done when training stalls',
    limit: 'recovery.jobMay.hang',
    example: { [ours.hang]: 'recover' },
    does: 'it is restarted when it hangs',
  },
  slow: {
    values: slowResponses.join(', '),
    means: 'whether an Event says that training has become slower',
    example: { [ours.slow]: 'ignore' },
    does: 'its steps may take longer, as when its batches grow',
  },
  retries: {
    values: 'a whole number from 0 to 100',
    means: 'recoveries in `recovery.budget.window` that its own code may cause; broken hardware never counts',
    limit: 'recovery.jobMay.retries',
    example: { [ours.retries]: '0' },
    does: 'its own crashes are left to its owner',
  },
  suppression: {
    values: 'codes, `until` a time, and a reason',
    means: 'faults that lead to nothing for this job until then',
    limit: 'recovery.jobMay.suppression',
    example: { [ours.suppression]: 'pod/exit until 2026-12-01T00:00:00Z: exits on purpose' },
    does: 'its exits are recorded and nothing is restarted until December',
  },
  notify: {
    values: 'at most 5 names, separated by commas',
    means: 'the routes of notifications that its owner wants to get, of those that the operator offers by `subscribe`',
    example: { [ours.notify]: 'team-a' },
    does: 'what is decided about it is sent to the route team-a',
  },
  logFormat: {
    values: logChoices.join(', '),
    means:
      'how the logs of its first and last rank are read for steps and checkpoints, where it writes no progress file',
    example: { [ours.logFormat]: 'off' },
    does: 'its logs are not read',
  },
  logStep: {
    values: 'a regular expression with the named group `step`, at most 200 characters',
    means: 'the lines of its logs that say that a step is done, in place of those of the format',
    example: { [ours.logStep]: 'finished step (?<step>[0-9]+)' },
    does: 'a line such as "finished step 1200" is step 1200',
  },
  logCheckpoint: {
    values: 'a regular expression with the named group `checkpoint`, at most 200 characters',
    means: 'the lines that say that a checkpoint of this step is complete',
    example: { [ours.logCheckpoint]: 'saved step (?<checkpoint>[0-9]+)' },
    does: 'a line such as "saved step 1200" is a checkpoint of step 1200',
  },
};

export const referenceExamples: Readonly<Record<keyof typeof theirs, OverrideExample>> = {
  mode: {
    values: recoveryModes.join(', '),
    means: `as \`${ours.mode}\`. \`external-grace\` and \`external-force\` are not supported, and are reported as ignored`,
    limit: 'recovery.jobMay.mode',
    example: { [theirs.mode]: 'grace' },
    does: 'its pods get their grace period, also where the operator says force',
  },
  elastic: {
    values: 'on, off',
    means: `on: as \`${ours.capacity}: shrink\`; off asks for nothing`,
    limit: 'recovery.jobMay.capacity',
    example: { [theirs.elastic]: 'on', [theirs.minReplicas]: '2' },
    does: 'without capacity for all it goes on with fewer pods, at least 2',
  },
  retries: {
    values: 'a whole number from 0 to 100',
    means: `as \`${ours.retries}\``,
    limit: 'recovery.jobMay.retries',
    example: { [theirs.retries]: '3' },
    does: 'its own code may cause three recoveries in the window',
  },
  podLevel: {
    values: 'on, off',
    means: `on: as \`${ours.level}: pod\`; off asks for nothing`,
    limit: 'recovery.jobMay.level',
    example: { [theirs.podLevel]: 'on' },
    does: 'a broken worker is replaced first',
  },
  minReplicas: {
    values: 'a whole number from 1',
    means: `as \`${ours.minReplicas}\``,
    example: { [theirs.minReplicas]: '2' },
    does: 'it is never made smaller than 2 pods',
  },
};

/**
 * Every name that crosses a process boundary: workflow ids, labels, annotations, taints, search attributes, Event reasons.
 * Each is defined only here.
 */

import { objectName, objectUid } from './object-names.ts';

/** The default Temporal task queue of workflows and their activities. */
export const defaultTaskQueue = 'kcover';

/**
 * The task queue of activities that wait for the cluster, for up to a day. It is separate so that these cannot delay a resume or a quarantine.
 */
export const waitsTaskQueue = (taskQueue: string): string => `${taskQueue}-waits`;

/** Kubernetes labels that people set. */
export const labels = {
  /** Opts a job in; exactly `true`. The job's label decides; that of the pod template counts when the job has none. */
  cascadingRecovery: 'kcover.io/cascading-recovery',
  /** On pods: they test their node in an init container before training; exactly `true`. */
  preflight: 'kcover.io/preflight',
  /** Asks for a recovery now; kcover removes it before it acts. */
  needRecovery: 'kcover.io/need-recovery',
} as const;

/** On the pod of the leading controller, with the name of its Lease as value: the Service of the intake selects it. */
export const leaderLabel = { key: 'kcover.io/leader' } as const;

/** What kcover writes on the Jobs and objects that hooks are made of. */
export const hookMarks = {
  /** Label: the operation, which is also the name. An object without it belongs to somebody else. */
  operation: 'kcover.io/operation',
  /** Annotations: what it is for. They are too long for labels. */
  node: 'kcover.io/node',
  incident: 'kcover.io/incident',
} as const;

/** Annotations that kcover writes. */
export const annotations = {
  /** On a node: the incident that quarantined it. Its presence marks the taint as ours. */
  quarantineIncident: 'kcover.io/quarantine-incident',
  /** On a node: why, in one sentence. */
  quarantineReason: 'kcover.io/quarantine-reason',
  /** On a node: the namespace whose preflight was the only reason for its quarantine. */
  quarantinePreflight: 'kcover.io/quarantine-preflight',
  /** On a node: `true` when kcover set `spec.unschedulable`. */
  quarantineCordoned: 'kcover.io/quarantine-cordoned',
  /** On a node: `<boot id>/<kernel sequence>` of the last line taken into account before a release; lines up to it do not count again. */
  judged: 'kcover.io/judged',
  /** On a node: its conditions, labels and devices at its release, as JSON; what stood then does not count again. */
  judgedState: 'kcover.io/judged-state',
  /** On a node: what rules over time remembered when it was released, `NodeHistory` as JSON. */
  faultHistory: 'kcover.io/fault-history',
  /** On a job that kcover suspended: `<incident id>#<attempt>`. */
  suspendedBy: 'kcover.io/suspended-by',
  /** On a job: how far training is; see `progress.ts`. */
  step: 'kcover.io/step',
  checkpointStep: 'kcover.io/checkpoint-step',
  progressAt: 'kcover.io/progress-at',
  /** On a job: what else kcover knows of its training, `TrainingNote` as JSON. */
  training: 'kcover.io/training',
  /** On a job whose processes are asked to restart training in place: `<incident id>#<attempt>`. */
  restartInProcess: 'kcover.io/restart-in-process',
  /** On such a job: `AskedRestart` as JSON. */
  restartAsked: 'kcover.io/restart-asked',
  /** On such a job: what its ranks answered, `RestartAnswers` with the id of the question as JSON. */
  restartAnswers: 'kcover.io/restart-answers',
  /** On a job that kcover shrank: how many pods it had before. */
  podsBefore: 'kcover.io/pods-before',
  /** On a standby node that a recovery took: `<namespace>/<name>/<time of its first fault>`. */
  standbyNodeTaken: 'kcover.io/spare-taken',
  /** On a job: the last verdict of its preflight, `PreflightNote` as JSON. */
  preflight: 'kcover.io/preflight',
} as const;

/** Default taint of a quarantined node; key and effect can be changed by settings, the value is the reason. */
export const quarantineTaintKey = 'kcover.io/quarantine';

/** Typed search attributes of every kcover workflow. */
export const searchAttributes = {
  KcoverNamespace: 'KEYWORD',
  KcoverJob: 'KEYWORD',
  KcoverNode: 'KEYWORD_LIST',
  KcoverPhase: 'KEYWORD',
  KcoverFault: 'KEYWORD',
  KcoverOutcome: 'KEYWORD',
} as const;
export type SearchAttribute = keyof typeof searchAttributes;

/** Workflow types. Never renamed: running workflows refer to them. */
export const workflowTypes = {
  trainingJob: 'trainingJob',
  recovery: 'recovery',
  nodeQuarantine: 'nodeQuarantine',
  preflight: 'preflight',
  cluster: 'cluster',
  remedy: 'remedy',
  notify: 'notify',
  maintenance: 'maintenance',
} as const;

/** Reasons of Kubernetes Events. Constant PascalCase, so that they can be filtered and alerted on. */
export const eventReasons = {
  faultObserved: 'FaultObserved',
  quarantined: 'NodeQuarantined',
  quarantineHeld: 'NodeQuarantineHeld',
  released: 'NodeReleased',
  releaseFailed: 'NodeReleaseFailed',
  storm: 'NodeStorm',
  remediating: 'NodeRemediating',
  remedyHeld: 'NodeRemedyHeld',
  remedyEnded: 'NodeRemedyEnded',
  maintenancePlanned: 'NodeMaintenancePlanned',
  maintenanceHeld: 'NodeMaintenanceHeld',
  maintenanceReady: 'NodeReadyForMaintenance',
  maintenanceEnded: 'NodeMaintenanceEnded',
  recoveryStarted: 'RecoveryStarted',
  attemptStopped: 'AttemptStopped',
  ranksSuspected: 'RanksSuspected',
  stopNotSent: 'StopNotSent',
  resumeDelayed: 'ResumeDelayed',
  restarted: 'JobRestarted',
  recovered: 'JobRecovered',
  waitingForPlacement: 'WaitingForPlacement',
  approvalAsked: 'ApprovalAsked',
  approvalGiven: 'ApprovalAnswered',
  checkpointAwaited: 'CheckpointAwaited',
  jobResized: 'JobResized',
  standbyNodeTaken: 'StandbyNodeTaken',
  trainingHangs: 'TrainingHangs',
  trainingSlow: 'TrainingSlow',
  podLogLine: 'PodLogLine',
  jobPaused: 'JobPaused',
  recoveryHeld: 'RecoveryHeld',
  recoveryRefused: 'RecoveryRefused',
  recoveryEnded: 'RecoveryEnded',
  recoveryStuck: 'RecoveryStuck',
  budgetUnknown: 'BudgetUnknown',
  notRecoverable: 'NotRecoverable',
  failureBeforeOptIn: 'FailureBeforeOptIn',
  preflightPassed: 'PreflightPassed',
  preflightFailed: 'PreflightFailed',
  preflightUndetermined: 'PreflightUndetermined',
  preflightIncomplete: 'PreflightIncomplete',
  notificationFailed: 'NotificationFailed',
} as const;
export type EventReason = (typeof eventReasons)[keyof typeof eventReasons];

interface Named {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Ids are parts joined by `/`: a part that contains one would form the id of another object. Throws `name.invalid`. */
const named = ({ namespace, name, uid }: Named): string =>
  `${objectName(namespace)}/${objectName(name)}/${objectUid(uid)}`;

/** `job/<namespace>/<name>/<uid>`: the workflow that looks after one training job. */
export const jobWorkflowId = (job: Named): string => `job/${named(job)}`;

/** What the ids of all recoveries of one job begin with. */
export const recoveryIdPrefix = (job: Named): string => `recovery/${named(job)}/`;

/** `recovery/<namespace>/<name>/<uid>/<UTC time of the first fault, ms>`: one incident of one job. */
export const recoveryId = (job: Named, firstFaultAt: number): string =>
  `${recoveryIdPrefix(job)}${new Date(firstFaultAt).toISOString()}`;

/** `<namespace>/<name>/<UTC time of the first fault, ms>`: without the UID of the job, which readers of nodes need not see. */
export const recoveryWithoutUid = (id: string): string => id.replace(/^recovery\/([^/]+\/[^/]+)\/[^/]+/, '$1');

/** `node/<name>`: the workflow that quarantines and looks after one node. */
export const nodeWorkflowId = (node: string): string => `node/${objectName(node)}`;

/** `node/<name>/<UTC time, ms>`: one quarantine of one node. */
export const quarantineId = (node: string, at: number): string =>
  `${nodeWorkflowId(node)}/${new Date(at).toISOString()}`;

/** `remedy/<node>/<UTC time of the quarantine, ms>`: the repair of a node in one quarantine. `incident`: id of the quarantine. */
export const remedyId = (node: string, incident: string): string =>
  `remedy/${objectName(node)}/${incident.split('/').at(-1) ?? ''}`;

/** `maintenance/<node>`: the planned maintenance of a node. */
export const maintenanceWorkflowId = (node: string): string => `maintenance/${objectName(node)}`;

/** `preflight/<namespace>/<workload>/<uid>`: the workflow that collects the reports of one workload. */
export const preflightWorkflowId = (workload: Named): string => `preflight/${named(workload)}`;

/** `notify/<route>`: the workflow that tells one receiver. */
export const notifyWorkflowId = (route: string): string => `notify/${route}`;

/** The workflow that holds reservations and the pause switch of the cluster. */
export const clusterWorkflowId = 'cluster';

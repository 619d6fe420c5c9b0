/** All commands, in the order of the help. A new command needs one file, and one line here. */

import type { CommandEntry } from '../program/command.ts';
import { completionsOf } from '../completion/places.ts';
import { agent } from './agent.ts';
import { approve } from './approve.ts';
import { classify } from './classify.ts';
import { completion } from './completion.ts';
import { configCheck } from './config-check.ts';
import { controller } from './controller.ts';
import { deny } from './deny.ts';
import { doctor } from './doctor.ts';
import { faultClear } from './fault-clear.ts';
import { faultReport } from './fault-report.ts';
import { incidents } from './incidents.ts';
import { judgeReplay } from './judge-replay.ts';
import { list } from './list.ts';
import { nodeHistory } from './node-history.ts';
import { nodeList } from './node-list.ts';
import { nodeMaintain } from './node-maintain.ts';
import { nodeQuarantine } from './node-quarantine.ts';
import { nodeRelease } from './node-release.ts';
import { notifyTest } from './notify-test.ts';
import { pause } from './pause.ts';
import { plan } from './plan.ts';
import { preflightJudge } from './preflight-judge.ts';
import { preflightPlan } from './preflight-plan.ts';
import { preflightStatus } from './preflight-status.ts';
import { progressTry } from './progress-try.ts';
import { recover } from './recover.ts';
import { recordsExport } from './records-export.ts';
import { redact } from './redact.ts';
import { report } from './report.ts';
import { resume } from './resume.ts';
import { start } from './start.ts';
import { status } from './status.ts';
import { stop } from './stop.ts';
import { verify } from './verify.ts';
import { wait } from './wait.ts';
import { worker } from './worker.ts';

export type CommandName =
  | 'start'
  | 'stop'
  | 'list'
  | 'status'
  | 'incidents'
  | 'report'
  | 'records export'
  | 'recover'
  | 'wait'
  | 'plan'
  | 'approve'
  | 'deny'
  | 'pause'
  | 'resume'
  | 'node list'
  | 'node history'
  | 'node quarantine'
  | 'node release'
  | 'node maintain'
  | 'fault report'
  | 'fault clear'
  | 'notify test'
  | 'preflight status'
  | 'preflight judge'
  | 'preflight plan'
  | 'progress try'
  | 'classify'
  | 'judge replay'
  | 'verify'
  | 'redact'
  | 'config check'
  | 'doctor'
  | 'completion'
  | 'worker'
  | 'controller'
  | 'agent';

export const commands: Readonly<Record<CommandName, CommandEntry>> = {
  start,
  stop,
  list,
  status,
  incidents,
  report,
  'records export': recordsExport,
  recover,
  wait,
  plan,
  approve,
  deny,
  pause,
  resume,
  'node list': nodeList,
  'node history': nodeHistory,
  'node quarantine': nodeQuarantine,
  'node release': nodeRelease,
  'node maintain': nodeMaintain,
  'fault report': faultReport,
  'fault clear': faultClear,
  'notify test': notifyTest,
  'preflight status': preflightStatus,
  'preflight judge': preflightJudge,
  'preflight plan': preflightPlan,
  'progress try': progressTry,
  classify,
  'judge replay': judgeReplay,
  verify,
  redact,
  'config check': configCheck,
  doctor,
  completion: completion(() => completionsOf(commands, groups)),
  worker,
  controller,
  agent,
};

/** Groups of two-word commands: the first word, and the summary of the group. */
export const groups = {
  records: 'Records of incidents, which outlive Temporal.',
  node: 'Nodes that are kept out of service.',
  fault: 'Faults of nodes that people report.',
  notify: 'Notifications to people outside of the cluster.',
  preflight: 'Tests of the nodes of a workload before it trains.',
  progress: 'Progress of training.',
  judge: 'What faults would lead to.',
  config: 'Settings files.',
} as const;

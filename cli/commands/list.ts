import type { WorkflowExecutionInfo } from '@temporalio/client';
import { workflowTypes } from '../../contract/ids.ts';
import { quoted } from '../../contract/wire/visibility.ts';
import { ago } from '../program/clock.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { table } from '../program/output.ts';

export const list: CommandEntry = {
  summary: 'List the jobs that kcover watches.',
  arguments: [],
  options: [
    { flags: '-n, --namespace <name>', describe: 'Only jobs of this namespace; all of them otherwise' },
    { flags: '-a, --all', describe: 'Also jobs that are no longer watched, as far as Temporal keeps them' },
    sharedOptions.output,
  ],
  examples: ['kcover list', 'kcover list -n train --output json'],
  exits: ['unreachable'],
  async run(typed, { session, now }) {
    const { attribute, listWorkflows } = await import('../clients/workflows.ts');
    const client = await session.temporal();
    const namespace = typed.option('namespace');
    const where = namespace === undefined ? '' : ` AND KcoverNamespace = ${quoted(namespace)}`;
    const running = " AND ExecutionStatus = 'Running'";
    const [jobs, recoveries] = await Promise.all([
      listWorkflows(client, `WorkflowType = '${workflowTypes.trainingJob}'${where}${typed.flag('all') ? '' : running}`),
      listWorkflows(client, `WorkflowType = '${workflowTypes.recovery}'${where}${running}`),
    ]);
    const open = new Map(
      recoveries.map((info) => [
        jobOf(info.workflowId),
        { incident: info.workflowId, phase: attribute(info, 'KcoverPhase') ?? null },
      ]),
    );
    const openOf = ({ status, workflowId }: WorkflowExecutionInfo) =>
      status.name === 'RUNNING' ? open.get(jobOf(workflowId)) : undefined;
    const rows = jobs.map((info) => ({
      namespace: attribute(info, 'KcoverNamespace') ?? jobOf(info.workflowId).split('/')[0] ?? '',
      job: attribute(info, 'KcoverJob') ?? jobOf(info.workflowId).split('/')[1] ?? '',
      phase: phaseOf(info, attribute(info, 'KcoverPhase')),
      lastOutcome: attribute(info, 'KcoverOutcome') ?? null,
      incident: openOf(info)?.incident ?? null,
      recovery: openOf(info)?.phase ?? null,
      since: info.startTime.toISOString(),
      workflow: info.workflowId,
    }));
    const lines = rows.map(({ namespace, job, phase, recovery, lastOutcome, incident, since }) => [
      namespace,
      job,
      recovery === null ? phase : `${phase}: ${recovery}`,
      lastOutcome ?? '',
      ago(since, now),
      incident ?? '',
    ]);
    return {
      data: rows,
      text:
        rows.length === 0
          ? 'no jobs; kcover start KIND/NAME begins to watch one'
          : table(['namespace', 'job', 'phase', 'last outcome', 'since', 'incident'], lines),
    };
  },
};

/** `<namespace>/<name>/<uid>`: the part that the ids of a job's workflow and its recoveries have in common. */
const jobOf = (workflowId: string): string => workflowId.split('/').slice(1, 4).join('/');

/** For a run that was ended from outside, such as a terminated one, Temporal's status. */
const phaseOf = ({ status }: WorkflowExecutionInfo, phase: string | undefined): string =>
  ['RUNNING', 'COMPLETED'].includes(status.name) ? (phase ?? '') : status.name.toLowerCase();

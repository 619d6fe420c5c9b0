import type { Client } from '@temporalio/client';
import { formatDuration } from '../../contract/settings/duration.ts';
import { faultSentence } from '../../contract/faults/sentence.ts';
import { jobWorkflowId } from '../../contract/ids.ts';
import { KcoverError } from '../../contract/errors.ts';
import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { Question } from '../../contract/recovery/plan.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { blames } from '../../contract/faults/faults.ts';
import { type JobStatus, usageByCategoryOf } from '../../contract/job/training-job.ts';
import { categoryLimits } from '../../policy/incident/budget.ts';
import { ago, clockTime, deadline } from '../program/clock.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { causeOf } from '../incidents/incident.ts';
import { commandFor, notWatched } from '../clients/job-update.ts';
import { properties } from '../program/output.ts';
import { readSettings, type Settings } from '../settings/file.ts';

export const status: CommandEntry = {
  summary: 'Print what kcover does for a job: what, why, what it waits for and until when.',
  arguments: [{ name: '<job>', describe: 'kind/name, such as pytorchjob/llm' }],
  options: [
    sharedOptions.watch,
    sharedOptions.namespace,
    sharedOptions.workerConfig,
    sharedOptions.kubeconfig,
    sharedOptions.output,
  ],
  examples: ['kcover status pytorchjob/llm -n train --output json', 'kcover status pytorchjob/llm -n train --watch'],
  exits: ['notFound', 'unreachable'],
  async run(typed, context) {
    const { jobTyped } = await import('../job/jobs.ts');
    const { statusOf } = await import('../clients/workflows.ts');
    const file = typed.option('config');
    const budget = file === undefined ? undefined : (await readSettings('worker', file)).settings.recovery.budget;
    const { ref, progress } = await jobTyped(typed, context);
    const client = await context.session.temporal();
    const job = await statusOf(client, 'trainingJob', jobWorkflowId(ref)).catch((error: unknown) => {
      throw notWatched(error, ref);
    });
    // A recovery whose workflow task fails cannot answer queries.
    const recovery =
      job.incident === undefined || job.phase === 'stuck'
        ? undefined
        : await recoveryStatus(() => statusOf(client, 'recovery', job.incident ?? ''));
    const cause = job.last && (await causeOfLast(client, job.last.incident));
    const last = job.last && { last: { ...job.last, ...(cause !== undefined && { cause }) } };
    const data = {
      ...job,
      ...last,
      ...(progress && { progress }),
      ...(budget && { budget }),
      ...(recovery && { recovery }),
    };
    return {
      data,
      text: describe(job, { recovery, cause, budget, progress }, context.now),
      items: [{ about: jobTitle(ref), line: lineOf(job, recovery), data }],
    };
  },
};

/** Undefined for a recovery that was just requested and does not run yet. */
async function recoveryStatus(ask: () => Promise<RecoveryStatus>): Promise<RecoveryStatus | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof KcoverError && error.code === 'not-found') return undefined;
    throw error;
  }
}

/** Cause of a recovery; undefined when Temporal no longer has it. */
async function causeOfLast(client: Client, incident: string): Promise<string | undefined> {
  const { readStart } = await import('../incidents/temporal.ts');
  const input = await readStart(client, incident).catch(() => undefined);
  return input && causeOf(input);
}

type Budget = Settings<'worker'>['recovery']['budget'];

/** Facts that the status of the job's workflow does not contain. */
export interface More {
  readonly recovery?: RecoveryStatus | undefined;
  readonly cause?: string | undefined;
  /** From the worker's settings. */
  readonly budget?: Budget | undefined;
  /** From the annotations of the job. */
  readonly progress?: JobProgress | undefined;
}

/** The job, or its recovery while one is open: it says what is waited for. */
const waitingIn = (job: JobStatus, recovery: RecoveryStatus | undefined): JobStatus | RecoveryStatus =>
  recovery && recovery.phase !== 'ended' ? recovery : job;

const phaseOf = ({ phase }: JobStatus, recovery: RecoveryStatus | undefined): string =>
  recovery ? `${phase}: ${recovery.phase}` : phase;

/** The job in one line, without times that pass. */
export function lineOf(job: JobStatus, recovery: RecoveryStatus | undefined): string {
  const { because, until } = waitingIn(job, recovery);
  const parts = [`${job.job.namespace}/${job.job.name}`, phaseOf(job, recovery), until && `until ${until}`, because];
  return parts.filter(Boolean).join('   ');
}

/** Output of `kcover status`. */
export function describe(job: JobStatus, { recovery, cause, budget, progress }: More, now: number): string {
  const closed = job.phase === 'ended';
  const waiting = waitingIn(job, recovery);
  const title = [
    `${job.job.namespace}/${job.job.name}`,
    phaseOf(job, recovery),
    closed ? '' : `waiting for ${waiting.waitingFor} ${deadline(waiting.until, now)}`.trimEnd(),
  ];
  const last = job.last && `${job.last.outcome} ${ago(job.last.at, now)}: ${job.last.because}`;
  const entry = recovery?.timeline.at(-1);
  return [
    title.filter((part) => part !== '').join('   '),
    properties([
      ['because', waiting.because],
      [
        'now',
        entry
          ? `attempt ${recovery?.attempt}; ${clockTime(entry.at, now)} ${entry.what}${entry.because === undefined ? '' : ` (${entry.because})`}`
          : `${job.phase} since ${clockTime(job.since, now)} (${ago(job.since, now)})`,
      ],
      ['next', nextOf[waiting.phase]],
      ['paused', job.paused && `by ${job.paused.by}: ${job.paused.reason}; ${commandFor('resume', job.job)}`],
      ['answer', recovery?.question && answerOf(job.job, recovery.question)],
      ['training', progress && trainingLine(progress, now)],
      ['faults', recovery?.faults.map(faultLine).join('; ')],
      ['budget', budgetLine(job, budget, now)],
      ['incident', job.incident],
      ['last', last],
      ['cause', last === undefined ? undefined : cause],
      ['dropped', job.dropped > 0 ? `${job.dropped} messages that could not be read or kept` : undefined],
    ]),
  ].join('\n');
}

const trainingLine = ({ step, checkpointStep, at, pace }: JobProgress, now: number): string =>
  [
    `step ${step}${checkpointStep === undefined ? '' : `, checkpoint ${checkpointStep}`}, ${ago(at, now)}`,
    ...(pace?.slow
      ? [
          `slow since ${clockTime(pace.slow.since, now)}: ${formatDuration(pace.msPerStep)} a step, ${formatDuration(pace.slow.bestMsPerStep)} at best in this attempt`,
        ]
      : []),
  ].join('; ');

/** Usage in the budget's window, with its limits, or without settings in the last hour. */
function budgetLine(
  { usage, recoveriesThisHour, usageByCategory }: JobStatus,
  budget: Budget | undefined,
  now: number,
): string {
  const said = (count: number, since: string): string =>
    `${count} ${count === 1 ? 'recovery' : 'recoveries'} in the last ${since}`;
  if (!budget || !usage)
    return `${said(recoveriesThisHour, 'hour')}${usageByCategory ? `: ${blames.map((blame) => `${blame} ${usageByCategory[blame] ?? 0}`).join(', ')}` : ''}`;
  const counted = usage.filter(({ startedAt, asked }) => startedAt > now - budget.window && !asked);
  const [whose, limits] = [usageByCategoryOf(counted), categoryLimits(budget)];
  const unblamed = counted.filter(({ blame }) => blame === undefined).length;
  const each = blames.map((blame) => `${blame} ${(whose[blame] ?? 0) + unblamed} of ${limits[blame]}`).join(', ');
  const labelled = usage.filter(({ startedAt, byLabel }) => startedAt > now - budget.window && byLabel).length;
  const asked = labelled > 0 ? `; asked for by label ${labelled} of ${budget.label}` : '';
  return `${said(counted.length, formatDuration(budget.window))}: ${each}${unblamed > 0 ? ` (${unblamed} of unknown cause, counted in each)` : ''}${asked}`;
}

/** The commands that answer the question. */
const answerOf = (job: JobRef, { id }: Question): string => {
  const options = `--question ${id} --reason "..."`;
  return `${commandFor('approve', job)} ${options}, or ${commandFor('deny', job)} ${options}`;
};

/** What happens after the present phase. */
const nextOf: Readonly<Record<JobStatus['phase'] | RecoveryStatus['phase'], string>> = {
  starting: 'it is watched once the object has been read',
  watching: 'a fault, or kcover recover, opens an incident',
  waiting: 'its faults are judged again',
  paused: 'nothing begins until it is resumed; waiting faults are judged again then',
  refused: 'its faults are judged again then; kcover recover does not wait',
  recovering: 'the recovery reports its outcome',
  stuck:
    'it goes on by itself once its workflow task succeeds; ended by hand, the job is resumed and its faults are judged again',
  deciding: 'stop all pods, hold, or end',
  held: 'nothing is deleted; its faults are judged again when that changes',
  'waiting for approval': 'it goes on when a person approves; without an answer by the deadline the settings decide',
  'waiting for a checkpoint': 'the attempt is stopped, or the next one starts, when the checkpoint is there or overdue',
  'checking capacity': 'stop, wait for capacity, take standby nodes, go on with fewer pods, or ask',
  stopping: 'a new attempt starts when all old pods are gone',
  restarting: 'the outcome is recorded when all new pods are ready',
  'capturing evidence': 'the old attempt is stopped when its logs are stored, or when that takes too long',
  verifying: 'the outcome is recorded when training passes the last step before the fault',
  'waiting for placement': 'nothing is deleted again; it goes on when the scheduler finds capacity',
  recording: 'the incident ends',
  ended: 'nothing',
};

const faultLine = (fault: RecoveryStatus['faults'][number]): string =>
  `${faultSentence(fault)}${fault.quarantine ? ` (node ${fault.quarantine.state})` : ''}`;

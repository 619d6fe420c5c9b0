import { KcoverError } from '../../contract/errors.ts';
import type { FleetReport, Window } from '../report/fleet.ts';
import {
  type CommandContext,
  type CommandEntry,
  type CommandOutput,
  sharedOptions,
  type Typed,
} from '../program/command.ts';

export const report: CommandEntry = {
  summary:
    'Print everything about one recovery that has ended, or what all records of a time say together, as Markdown or HTML.',
  arguments: [{ name: '[incident]', describe: 'Id of the recovery, as kcover incidents prints it' }],
  options: [
    {
      ...sharedOptions.records,
      describe:
        'Read the records of a worker before Temporal is asked; with --since also those of several clusters: a=DIR,b=DIR',
    },
    {
      flags: '--since <duration>',
      describe: 'Instead of an incident: everything in --records that ended within this time, such as 30d',
    },
    {
      flags: '--evidence <directory>',
      describe: 'Evidence store of a worker (recovery.evidence.directory): also list the files that were kept',
    },
    { flags: '--html', describe: 'One HTML file that loads nothing, instead of Markdown' },
    { ...sharedOptions.output, describe: 'How to print; table is Markdown' },
  ],
  examples: [
    'kcover report recovery/train/llm/0b1c8d5e/2026-11-21T07:09:03.117Z --html > report.html',
    'kcover report --since 30d --records east=/srv/east,west=/srv/west --html > november.html',
  ],
  exits: ['notFound', 'unreachable'],
  run(typed, context) {
    const isFleet = typed.option('since') !== undefined;
    if (isFleet === (typed.argument('incident') !== '') || (isFleet && typed.option('records') === undefined))
      throw new KcoverError('usage', 'it takes the id of a recovery, or --since with --records', {
        remedy: 'kcover report recovery/train/llm/0b1c8d5e/2026-11-21T07:09:03.117Z',
      });
    return isFleet ? ofTime(typed, context) : ofIncident(typed, context);
  },
};

async function ofIncident(typed: Typed, { session }: CommandContext): Promise<CommandOutput> {
  const { findRecord } = await import('../report/find-record.ts');
  const { readEvidence } = await import('../report/evidence-index.ts');
  const { reportOf } = await import('../report/incident-report.ts');
  const { spansOf } = await import('../report/cost.ts');
  const { htmlOf } = await import('../report/html.ts');
  const { markdownOf } = await import('../report/markdown.ts');
  const incident = typed.argument('incident');
  const record = await findRecord({ incident, records: typed.option('records'), temporal: () => session.temporal() });
  if (!record)
    throw new KcoverError('not-found', `there is no record of ${incident}`, {
      what: 'there is no such report',
      remedy: 'kcover status while it is open; --records with the records of a worker when Temporal no longer has it',
    });
  const store = typed.option('evidence');
  const evidence = store === undefined ? undefined : await readEvidence(store, record);
  const page = reportOf(record, evidence);
  return {
    data: { record, ...(evidence && { evidence }) },
    text: typed.flag('html') ? htmlOf(page, spansOf(record)) : markdownOf(page),
  };
}

async function ofTime(typed: Typed, { now }: CommandContext): Promise<CommandOutput> {
  const { directoriesIn, failureData, failureLine } = await import('../clusters/clusters.ts');
  const { sinceOf } = await import('../incidents/index.ts');
  const { fleetPage } = await import('../report/fleet-page.ts');
  const { htmlOf } = await import('../report/html.ts');
  const { markdownOf } = await import('../report/markdown.ts');
  const window = { from: sinceOf(typed.value('since'), now), to: now };
  const records = typed.value('records');
  const directories = directoriesIn(records);
  const { data, failed } = directories ? await ofClusters(directories, window) : await ofDirectory(records, window);
  const notes = failed.map(({ cluster, failure }) => failureLine(cluster, failure));
  const page = fleetPage(data, notes);
  return {
    data: {
      ...data,
      ...(failed.length > 0 && {
        failed: failed.map(({ cluster, failure }) => failureData(cluster, failure)),
      }),
    },
    text: typed.flag('html') ? htmlOf(page, []) : markdownOf(page),
    ...(failed.length > 0 && { exit: 'failed' }),
  };
}

interface OfTime {
  readonly data: FleetReport;
  /** Clusters whose records could not be read. */
  readonly failed: readonly { readonly cluster: string; readonly failure: KcoverError }[];
}

async function ofDirectory(directory: string, window: Window): Promise<OfTime> {
  const { recordsIn } = await import('../incidents/records.ts');
  const { fleetReport } = await import('../report/fleet.ts');
  return { data: fleetReport(await recordsIn(directory), window), failed: [] };
}

async function ofClusters(directories: ReadonlyMap<string, string>, window: Window): Promise<OfTime> {
  const { answerOf } = await import('../clusters/clusters.ts');
  const { recordsIn } = await import('../incidents/records.ts');
  const { reportOfClusters } = await import('../report/fleet-of-clusters.ts');
  const answers = await Promise.all(
    [...directories].map(([cluster, directory]) => answerOf(cluster, () => recordsIn(directory))),
  );
  const read = answers.flatMap((one) => ('found' in one ? [{ cluster: one.cluster, records: one.found }] : []));
  const failed = answers.flatMap((one) => ('failure' in one ? [one] : []));
  return { data: reportOfClusters(read, window), failed };
}

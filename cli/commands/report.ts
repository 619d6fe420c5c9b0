import { KcoverError } from '../../contract/errors.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';

export const report: CommandEntry = {
  summary:
    'Print everything about one recovery that has ended, as Markdown or HTML: timeline, cost, faults, decisions, stops, evidence.',
  arguments: [{ name: '<incident>', describe: 'Id of the recovery, as kcover incidents prints it' }],
  options: [
    { ...sharedOptions.records, describe: 'Read the records of a worker before Temporal is asked' },
    {
      flags: '--evidence <directory>',
      describe: 'Evidence store of a worker (recovery.evidence.directory): also list the files that were kept',
    },
    { flags: '--html', describe: 'One HTML file that loads nothing, with a bar for each phase, instead of Markdown' },
    { ...sharedOptions.output, describe: 'How to print; table is Markdown' },
  ],
  examples: [
    'kcover report recovery/train/llm/0b1c8d5e/2026-11-21T07:09:03.117Z --html > report.html',
    'kcover report recovery/train/llm/0b1c8d5e/2026-11-21T07:09:03.117Z --records /var/lib/kcover/records --evidence /var/lib/kcover/evidence --output json',
  ],
  exits: ['notFound', 'unreachable'],
  async run(typed, { session }) {
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
  },
};

import { KcoverError } from '../../contract/errors.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import { parseDuration } from '../../contract/settings/duration.ts';
import { sinceOf } from '../incidents/index.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { properties } from '../program/output.ts';
import { type Condition, conditions } from '../wait/verdict.ts';

export const wait: CommandEntry = {
  summary:
    'Wait until a job is protected (its workflow runs), recovered (the incident that is open, or the next one, has ended and its pods run again) or idle (no incident is open or about to open).',
  arguments: [{ name: '<job>', describe: 'kind/name, such as pytorchjob/llm' }],
  options: [
    { flags: '--for <condition>', describe: 'What to wait for', choices: conditions, required: true },
    { flags: '--timeout <duration>', describe: 'How long', byDefault: '30m' },
    {
      flags: '--since <duration>',
      describe: 'With --for recovered, an incident that ended at most this long ago counts too',
    },
    sharedOptions.namespace,
    sharedOptions.kubeconfig,
    sharedOptions.output,
  ],
  examples: [
    'kcover wait pytorchjob/llm -n train --for recovered --timeout 30m',
    'kcover wait pytorchjob/llm --for protected --timeout 1m',
  ],
  exits: ['notFound', 'unreachable', 'timedOut', 'otherwise'],
  async run(typed, context) {
    const timeoutMs = timeoutOf(typed.value('timeout'));
    const past = typed.option('since');
    const since = past === undefined ? undefined : sinceOf(past, context.now);
    const { jobTyped } = await import('../job/jobs.ts');
    const { waitFor } = await import('../wait/wait.ts');
    const { ref: job } = await jobTyped(typed, context);
    const client = await context.session.temporal();
    // The option has no other values.
    const condition = typed.value('for') as Condition;
    const { because, incident } = await waitFor(client, { job, condition, timeoutMs, since });
    return {
      data: { job, condition, because, incident: incident ?? null },
      text: `${jobTitle(job)} in ${job.namespace}: ${condition}\n${properties([
        ['because', because],
        ['incident', incident],
      ])}`,
    };
  },
};

function timeoutOf(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new KcoverError('usage', `--timeout ${text} is not a duration above zero`, { remedy: '--timeout 30m' });
}

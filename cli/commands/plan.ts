import { readFile } from 'node:fs/promises';
import { KcoverError } from '../../contract/errors.ts';
import {
  type CommandOutput,
  type CommandEntry,
  sharedOptions,
  type CommandContext,
  type Typed,
} from '../program/command.ts';
import type { PlanInput } from '../plan/facts.ts';
import { readSettings, type Settings } from '../settings/file.ts';

export const plan: CommandEntry = {
  summary: 'Print what kcover would do for a job now, step by step and why; changes nothing.',
  arguments: [{ name: '[job]', describe: 'kind/name, such as pytorchjob/llm; none with --facts' }],
  options: [
    {
      flags: '--facts <file>',
      describe: 'Recorded facts instead of a cluster: what --output json printed; - for stdin',
    },
    { flags: '--fault <code>', describe: 'Plan for a hypothetical fault, such as xid/79 or pod/exit' },
    { flags: '--node <name>', describe: 'Node of the hypothetical fault' },
    { flags: '--pod <name>', describe: 'Pod of the hypothetical fault' },
    sharedOptions.namespace,
    {
      ...sharedOptions.workerConfig,
      describe: 'Settings file of the worker; those of the facts, or the defaults, otherwise',
    },
    sharedOptions.kubeconfig,
    sharedOptions.output,
  ],
  examples: [
    'kcover plan pytorchjob/llm -n train --fault xid/79 --node gpu-3 --config worker.yaml',
    'kcover plan --facts facts.json --output yaml',
  ],
  exits: ['notFound', 'unreachable'],
  run: (typed, context) => {
    const file = typed.option('facts');
    const job = typed.argument('job');
    if (file !== undefined && job === '') return fromFile(file, typed, context);
    if (file === undefined && job !== '') return fromCluster(typed, context);
    throw new KcoverError(
      'usage',
      job === '' ? 'there is neither a job nor a file of facts' : 'facts are of one job: no other can be named',
      {
        remedy: 'kcover plan pytorchjob/llm, or kcover plan --facts facts.json',
      },
    );
  },
};

async function fromCluster(typed: Typed, context: CommandContext): Promise<CommandOutput> {
  const { jobTyped } = await import('../job/jobs.ts');
  const { gatherFacts } = await import('../plan/gather.ts');
  const { effectiveSettings } = await import('../settings/fields.ts');
  const { settings, schema, written } = await readSettings('worker', typed.option('config'));
  const job = await jobTyped(typed, context);
  const { environment, session, now } = context;
  const request = {
    job,
    fault: faultTyped(typed, environment.user),
    settings,
    written: effectiveSettings(schema, written),
    now,
  };
  const facts = await gatherFacts(session, request);
  return answerOf(facts, settings);
}

async function fromFile(file: string, typed: Typed, { environment }: CommandContext): Promise<CommandOutput> {
  const { parseFacts } = await import('../plan/facts.schema.ts');
  const { hypotheticalFault } = await import('../plan/hypothetical.ts');
  const fault = faultTyped(typed, environment.user);
  const read = parseFacts(file === '-' ? 'stdin' : file, file === '-' ? await environment.stdin() : await textOf(file));
  const config = typed.option('config');
  const settings = config === undefined ? read.settings : (await readSettings('worker', config)).settings;
  const { job, pods } = read.facts.attempt;
  const hypothetical = fault && hypotheticalFault({ ...fault, job: job.ref, pods, at: read.facts.at });
  return answerOf({ ...read.facts, ...(hypothetical && { hypothetical }) }, settings);
}

async function answerOf(facts: PlanInput, settings: Settings<'worker'>): Promise<CommandOutput> {
  const { pageOf } = await import('../plan/page.ts');
  const { planOf } = await import('../plan/plan.ts');
  const made = await planOf(facts, settings);
  return { data: { ...made, facts }, text: pageOf(facts, made) };
}

function faultTyped(typed: Typed, by: string) {
  const code = typed.option('fault');
  if (code !== undefined) return { code, node: typed.option('node'), pod: typed.option('pod'), by };
  if (typed.option('node') === undefined && typed.option('pod') === undefined) return undefined;
  throw new KcoverError('usage', '--node and --pod say where --fault would be', {
    remedy: '--fault xid/79 --node gpu-3',
  });
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new KcoverError('file.unreadable', `${file}: ${why}`, {
      what: 'the facts cannot be read',
      remedy: 'name another file, or - for stdin',
    });
  }
}

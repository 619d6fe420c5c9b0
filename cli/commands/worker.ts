import { KcoverError } from '../../contract/errors.ts';
import { duration } from '../../contract/settings/values.schema.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { readSettings } from '../settings/file.ts';

export const worker: CommandEntry = {
  summary: 'Run workflows and activities, which make every change to the cluster except progress.',
  arguments: [],
  options: [
    sharedOptions.config,
    sharedOptions.kubeconfig,
    { flags: '--workflow-bundle <file>', describe: 'File with bundled workflow code; bundled at the start otherwise' },
    {
      flags: '--preflight-report-collection-timeout <duration>',
      describe:
        'How long a preflight waits for the next report; overrides preflight.collection of the settings, 0s leaves it to them',
    },
  ],
  examples: ['kcover worker', 'kcover worker --config worker.yaml --workflow-bundle dist/workflow-bundle.js'],
  exits: [],
  async run(typed, { environment }) {
    const { settings: read } = await readSettings('worker', typed.option('config'));
    const collection = collectionOf(typed.option('preflight-report-collection-timeout'));
    const settings = collection > 0 ? { ...read, preflight: { ...read.preflight, collection } } : read;
    const { runWorker } = await import('../roles/worker.ts');
    return runWorker({
      settings,
      environment,
      kubeconfig: typed.option('kubeconfig'),
      workflowBundle: typed.option('workflow-bundle'),
    });
  },
};

/** Milliseconds; 0 without a value. */
function collectionOf(text: string | undefined): number {
  const read = duration('0s').safeParse(text);
  if (read.success) return read.data;
  const why = read.error.issues[0]?.message ?? 'must be a duration';
  throw new KcoverError('usage', `--preflight-report-collection-timeout ${text} ${why}`, {
    remedy: '--preflight-report-collection-timeout 30m',
  });
}

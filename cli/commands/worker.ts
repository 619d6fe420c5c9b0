import { type CommandEntry, sharedOptions } from '../command.ts';
import { readSettings } from '../settings-file.ts';

export const worker: CommandEntry = {
  summary: 'Run workflows and activities: every change to the cluster but progress.',
  arguments: [],
  options: [
    sharedOptions.config,
    sharedOptions.kubeconfig,
    { flags: '--workflow-bundle <file>', describe: 'Workflow code that was bundled before; bundled at the start otherwise' },
  ],
  examples: ['kcover worker', 'kcover worker --config worker.yaml --workflow-bundle dist/workflow-bundle.js'],
  exits: [],
  async run(typed, { environment }) {
    const { settings } = await readSettings('worker', typed.option('config'));
    const { runWorker } = await import('../roles/worker.ts');
    return runWorker({ settings, environment, kubeconfig: typed.option('kubeconfig'), workflowBundle: typed.option('workflow-bundle') });
  },
};

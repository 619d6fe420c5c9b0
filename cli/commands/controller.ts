import { type CommandEntry, sharedOptions } from '../command.ts';
import { readSettings } from '../settings-file.ts';

export const controller: CommandEntry = {
  summary: 'Take reports of agents, watch jobs, pods and nodes, and tell the workflows.',
  arguments: [],
  options: [sharedOptions.config, sharedOptions.kubeconfig],
  examples: ['kcover controller', 'kcover controller --config controller.yaml --kubeconfig ~/.kube/config'],
  exits: [],
  async run(typed, { environment }) {
    const { settings } = await readSettings('controller', typed.option('config'));
    const { runController } = await import('../roles/controller.ts');
    return runController({ settings, environment, kubeconfig: typed.option('kubeconfig') });
  },
};

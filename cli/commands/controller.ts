import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { readSettings } from '../settings/file.ts';

export const controller: CommandEntry = {
  summary: 'Receive reports of agents, watch jobs, pods and nodes, and notify the workflows.',
  arguments: [],
  options: [
    sharedOptions.config,
    sharedOptions.kubeconfig,
    {
      flags: '--leader-elect <boolean>',
      describe: 'Overrides leaderElection.enabled of the settings',
      choices: ['true', 'false'],
    },
  ],
  examples: ['kcover controller', 'kcover controller --config controller.yaml --kubeconfig ~/.kube/config'],
  exits: [],
  async run(typed, { environment }) {
    const { settings: read } = await readSettings('controller', typed.option('config'));
    const elect = typed.option('leader-elect');
    const settings =
      elect === undefined ? read : { ...read, leaderElection: { ...read.leaderElection, enabled: elect === 'true' } };
    const { runController } = await import('../roles/controller.ts');
    return runController({ settings, environment, kubeconfig: typed.option('kubeconfig') });
  },
};

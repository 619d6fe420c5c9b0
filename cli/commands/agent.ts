import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { readSettings } from '../settings/file.ts';

export const agent: CommandEntry = {
  summary: 'Watch one node and report what it sees to the controller.',
  arguments: [],
  options: [
    sharedOptions.config,
    sharedOptions.hostRoot,
    { flags: '--node <name>', describe: 'Name of the node; NODE_NAME or the host name otherwise' },
  ],
  examples: ['kcover agent', 'kcover agent --config agent.yaml --host-root /host'],
  exits: [],
  async run(typed, { environment }) {
    const { settings } = await readSettings('agent', typed.option('config'));
    const { runAgent } = await import('../roles/agent.ts');
    return runAgent({ settings, environment, hostRoot: typed.value('host-root'), node: typed.option('node') });
  },
};

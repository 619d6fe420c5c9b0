import { stringify } from 'yaml';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { effectiveSettings } from '../settings/fields.ts';
import { isRole, readSettings, roles } from '../settings/file.ts';

export const configCheck: CommandEntry = {
  summary: 'Check a settings file and print what would be in force.',
  arguments: [
    { name: '<role>', describe: 'Role that the file is for', choices: roles },
    { name: '<file>', describe: 'Settings file' },
  ],
  options: [sharedOptions.output],
  examples: [
    'kcover config check worker worker.yaml',
    'kcover config check agent /etc/kcover/agent.yaml --output json',
  ],
  exits: [],
  async run(typed) {
    const role = typed.argument('role');
    if (!isRole(role)) return 'usage';
    const { schema, written } = await readSettings(role, typed.argument('file'));
    const effective = effectiveSettings(schema, written);
    return { data: effective, text: stringify(effective, { lineWidth: 0 }).trimEnd() };
  },
};

import { KcoverError } from '../../contract/errors.ts';
import { type CommandEntry, type ExitName, sharedOptions } from '../program/command.ts';
import type { Finding } from '../doctor/finding.ts';
import { table } from '../program/output.ts';
import { isRole, roles } from '../settings/file.ts';

export const doctor: CommandEntry = {
  summary: 'Check everything that kcover needs: Temporal, Kubernetes, rights, clocks, settings.',
  arguments: [],
  options: [
    { flags: '--fix', describe: 'Register the search attributes that Temporal lacks; nothing else is changed' },
    { flags: '--role <role>', describe: 'Only what this role needs; for an agent, on its node', choices: roles },
    { flags: '--config <file>', describe: 'Settings file of that role' },
    {
      flags: '-n, --namespace <name>',
      describe: 'Where kcover itself runs; kcover-system, or what the settings say, otherwise',
    },
    {
      flags: '--name <name>',
      describe: 'Prefix of the names of its objects: the full name of the Helm release',
      byDefault: 'kcover',
    },
    sharedOptions.hostRoot,
    sharedOptions.taskQueue,
    sharedOptions.kubeconfig,
    sharedOptions.output,
  ],
  examples: ['kcover doctor --fix', 'kcover doctor --role worker --config worker.yaml --output json'],
  exits: ['unreachable'],
  async run(typed, { environment, session }) {
    const { examine } = await import('../doctor/index.ts');
    const role = typed.option('role');
    const config = typed.option('config');
    if (config !== undefined && role === undefined)
      throw new KcoverError('usage', '--config needs --role', {
        remedy: `--role ${roles.join('|')} --config ${config}`,
      });
    const findings = await examine({
      environment,
      session,
      role: role !== undefined && isRole(role) ? role : undefined,
      config,
      namespace: typed.option('namespace'),
      name: typed.value('name'),
      taskQueue: typed.value('task-queue'),
      hostRoot: typed.value('host-root'),
      fix: typed.flag('fix'),
    });
    return { data: findings, text: report(findings), exit: exitOf(findings) };
  },
};

function exitOf(findings: readonly Finding[]): ExitName {
  if (findings.some(({ unreachable }) => unreachable)) return 'unreachable';
  return findings.some(({ result }) => result === 'failed') ? 'failed' : 'ok';
}

/** One line for each check, followed by the remedies. */
function report(findings: readonly Finding[]): string {
  const lines = table(
    ['check', 'result', 'because'],
    findings.map(({ check, result, because }) => [check, result, because]),
  );
  const tries = findings.flatMap(({ check, result, remedy: advice }) =>
    result === 'ok' || advice === undefined ? [] : [`${check}\n  try: ${advice}`],
  );
  return [lines, ...tries].join('\n\n');
}

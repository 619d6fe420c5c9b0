import { actions } from '../../contract/faults/faults.ts';
import { nodeWorkflowId } from '../../contract/ids.ts';
import { signals } from '../../contract/wire/messages.ts';
import { nodeStart } from '../../contract/wire/starts.ts';
import { faultOptions, personsReport } from '../fault/persons-report.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';

export const faultReport: CommandEntry = {
  summary: 'Report a fault of a node; the settings of the workers decide what follows.',
  arguments: [{ name: '<node>', describe: 'Name of the node' }],
  options: [
    faultOptions.code,
    faultOptions.device,
    {
      flags: '--action <action>',
      describe:
        'What must be done about it; faults.responses of the worker has the response. Without one it only warns',
      choices: actions,
    },
    sharedOptions.reason,
    sharedOptions.kubeconfig,
    sharedOptions.taskQueue,
    sharedOptions.output,
  ],
  examples: [
    'kcover fault report gpu-3 --code fan-loud --reason "fan 2 is loud"',
    'kcover fault report gpu-3 --code gpu-lost --device 0000:5d:00 --action contact-support --reason "not in lspci"',
  ],
  exits: ['notFound', 'unreachable'],
  async run(typed, { environment: { user }, session, now }) {
    const report = personsReport({ typed, user, state: 'occur', now });
    const { externalFault } = await import('../../controller/external/judge-report.ts');
    const { awaitNode, clientForNode } = await import('../clients/node-workflow.ts');
    const { signalWithStart } = await import('../clients/start-workflow.ts');
    const { node } = report;
    const client = await clientForNode(session, node);
    const fault = externalFault(report, user, now);
    await signalWithStart(client, nodeStart(node, typed.value('task-queue')), signals.faultsObserved, {
      faults: [fault],
    });
    const seen = await awaitNode(
      client,
      node,
      (status) => status.phase !== 'deciding' && status.faults.some(({ code }) => code === fault.code),
    );
    const phase = seen?.phase ?? 'unknown';
    return {
      data: { node, workflow: nodeWorkflowId(node), fault, phase, incident: seen?.incident ?? null },
      text: `node ${node}: ${fault.code} reported\n  now      ${phase}${seen ? `: ${seen.because}` : ''}\n  follow   kcover node list`,
    };
  },
};

import { KcoverError } from '../../contract/errors.ts';
import { nodeWorkflowId } from '../../contract/ids.ts';
import { isQuarantined } from '../../contract/node/nodes.ts';
import { signals } from '../../contract/wire/messages.ts';
import { faultOptions, personsReport } from '../fault/persons-report.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';

export const faultClear: CommandEntry = {
  summary: 'Record that a reported fault of a node is over; it releases nothing.',
  arguments: [{ name: '<node>', describe: 'Name of the node' }],
  options: [
    faultOptions.code,
    faultOptions.device,
    sharedOptions.reason,
    sharedOptions.kubeconfig,
    sharedOptions.output,
  ],
  examples: [
    'kcover fault clear gpu-3 --code fan-loud --reason "fan 2 replaced"',
    'kcover fault clear gpu-3 --code gpu-lost --device 0000:5d:00 --reason "reseated" --output json',
  ],
  exits: ['notFound', 'unreachable'],
  async run(typed, { environment: { user }, session, now }) {
    const report = personsReport({ typed, user, state: 'recover', now });
    const { recoveredFault } = await import('../../controller/external/judge-report.ts');
    const { awaitNode, clientForNode } = await import('../clients/node-workflow.ts');
    const { askTemporal } = await import('../clients/temporal.ts');
    const { node } = report;
    const client = await clientForNode(session, node);
    const record = recoveredFault(report, user, now);
    await askTemporal(client, `signal ${nodeWorkflowId(node)}`, () =>
      client.workflow.getHandle(nodeWorkflowId(node)).signal(signals.faultsObserved, { faults: [record] }),
    ).catch((error: unknown) => {
      if (!(error instanceof KcoverError) || error.code !== 'not-found') throw error;
      throw new KcoverError('not-found', `no workflow looks after ${node}, so nothing is recorded there`, {
        what: 'kcover knows no fault of this node',
        remedy: 'kcover node list',
      });
    });
    const seen = await awaitNode(client, node, ({ faults }) => faults.some(({ code }) => code === record.code));
    const isOut = seen !== undefined && (isQuarantined(seen) || seen.phase === 'held');
    return {
      data: {
        node,
        workflow: nodeWorkflowId(node),
        recorded: record,
        phase: seen?.phase ?? 'unknown',
        released: false,
      },
      text: [
        `node ${node}: recorded that external/${report.code} is over; nothing was released`,
        `  now      ${seen?.phase ?? 'unknown'}${seen ? `: ${seen.because}` : ''}`,
        isOut ? `  release  kcover node release ${node} --reason TEXT` : `  follow   kcover node list`,
      ].join('\n'),
    };
  },
};

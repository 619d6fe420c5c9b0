import type { Client } from '@temporalio/client';
import { KcoverError } from '../../contract/errors.ts';
import { workflowTypes } from '../../contract/ids.ts';
import type { NodeJudgement } from '../../contract/preflight/preflight.ts';
import { quoted } from '../../contract/wire/visibility.ts';
import type { PreflightRun, PreflightStatus } from '../../contract/preflight/runs.ts';
import { ago, clockTime, deadline } from '../program/clock.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { properties } from '../program/output.ts';

export const preflightStatus: CommandEntry = {
  summary:
    'Print the progress of the preflight of a workload: ranks that reported, ranks that are missing, refused reports, and the last verdict.',
  arguments: [{ name: '<workload>', describe: 'Name of the workload, as its report files have it' }],
  options: [sharedOptions.namespace, sharedOptions.kubeconfig, sharedOptions.output],
  examples: ['kcover preflight status llm', 'kcover preflight status llm -n train --output json'],
  exits: ['notFound', 'unreachable'],
  async run(typed, { session, now }) {
    const { statusOf } = await import('../clients/workflows.ts');
    const { currentNamespace } = await import('../clients/kubernetes.ts');
    const namespace = typed.option('namespace') ?? currentNamespace(await session.kube());
    const client = await session.temporal();
    const status = await statusOf(client, 'preflight', await newest(client, namespace, typed.argument('workload')));
    return { data: status, text: describe(status, now) };
  },
};

/** Id of the running preflight, or else of the last one that Temporal still has. Throws `not-found` when there is none. */
async function newest(client: Client, namespace: string, workload: string): Promise<string> {
  const { listWorkflows } = await import('../clients/workflows.ts');
  const query = [
    `WorkflowType = ${quoted(workflowTypes.preflight)}`,
    `KcoverNamespace = ${quoted(namespace)}`,
    `KcoverJob = ${quoted(workload)}`,
  ];
  const found = await listWorkflows(client, query.join(' AND '));
  const chosen = found.find(({ status }) => status.name === 'RUNNING') ?? found[0];
  if (chosen) return chosen.workflowId;
  throw new KcoverError('not-found', `no preflight of ${workload} in namespace ${namespace} is known`, {
    what: 'there is no such preflight',
    remedy: `kubectl get pods -n ${namespace} -l kcover.io/preflight=true`,
  });
}

/** Output of `kcover preflight status`. */
export function describe(status: PreflightStatus, now: number): string {
  const {
    workload,
    phase,
    run,
    received,
    expected,
    missing,
    because,
    waitingFor,
    until,
    since,
    last,
    refused,
    dropped,
  } = status;
  const title = [
    `${workload.namespace}/${workload.name}`,
    phase,
    phase === 'ended' ? '' : `waiting for ${waitingFor} ${deadline(until, now)}`.trimEnd(),
  ];
  return [
    title.filter((part) => part !== '').join('   '),
    properties([
      ['because', because],
      [
        'now',
        `run ${run}: ${received} of ${expected} reports; ${phase} since ${clockTime(since, now)} (${ago(since, now)})`,
      ],
      ['missing', missing.length === 0 ? undefined : `${missing.length === 1 ? 'rank' : 'ranks'} ${missing.join(' ')}`],
      ['last', last && `run ${last.run} ${last.outcome} ${ago(last.endedAt, now)}: ${last.because}`],
      ...(last ? verdictRows(last) : []),
      ...refused.map(({ at, rank, node, what, because: why }): [string, string] => [
        'refused',
        `${clockTime(at, now)} rank ${rank} of ${node}: ${what}: ${why}`,
      ]),
      ['dropped', dropped > 0 ? `${dropped} messages that could not be read or kept` : undefined],
    ]),
  ].join('\n');
}

const verdictRows = ({ verdict }: PreflightRun): [string, string | undefined][] =>
  verdict === undefined
    ? []
    : [
        ['failed', nodesText(verdict.failed)],
        ['slow', nodesText(verdict.slow)],
        ['undetermined', nodesText(verdict.undetermined)],
        [
          'healthy',
          `${verdict.counts.healthy}; confidence ${verdict.confidence.toFixed(3)} by the rule ${verdict.rule}`,
        ],
      ];

const nodesText = (nodes: readonly NodeJudgement[]): string =>
  nodes.map(({ node, because, confidence }) => `${node} (${confidence.toFixed(3)}: ${because})`).join('; ');

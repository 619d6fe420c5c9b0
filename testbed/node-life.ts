/** Demo: the node whose GPU broke is repaired. A reset does not help, a reboot does; a test and a probation follow, and the node returns. */

import { Client, Connection } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeWorkflowId } from '../contract/ids.ts';
import { isQuarantined, type NodeOutcome, type NodeStatus } from '../contract/node/nodes.ts';
import type { Remediation } from '../contract/remedy/remedy.ts';
import { statusQuery } from '../contract/wire/messages.ts';
import { setUpDemo } from './demo-fixture.ts';
import { breakGpu, failContainer, reboot } from './failures.ts';
import { type HookServer, startHookServer } from './hook-server.ts';
import { watchIncident } from './incident.ts';
import { podsOf } from './jobs.ts';
import { grantRepair } from './rights.ts';
import type { Story } from './story.ts';
import type { TestCluster } from './test-cluster.ts';

const line = 'NVRM: Xid (PCI:0000:5d:00): 79, pid=4242, name=python, GPU has fallen off the bus.';

/** Seconds stand for the minutes of a real repair, and for the hour of a probation. */
const remediation = (url: string) => ({
  mode: 'run',
  probation: '2s',
  hooks: Object.fromEntries(['reset', 'reboot', 'test'].map((hook) => [hook, { kind: 'http', url: `${url}/${hook}` }])),
  ladders: [
    {
      name: 'gpu',
      codes: ['xid/*'],
      release: 'verified',
      rungs: [
        { hook: 'reset', proof: ['result'] },
        { hook: 'reboot', proof: ['rebooted', 'ready'], verify: 'test' },
      ],
    },
  ],
});

let hooks: HookServer;

export const nodeLife: Story = {
  nodes: 8,
  async set(options) {
    hooks = await startHookServer();
    return setUpDemo({ ...options, workerSettings: { remediation: remediation(hooks.url) } });
  },
  async run({ cluster, kcover, job }, print) {
    await grantRepair(cluster);
    const before = await podsOf(cluster.api, job);
    print(`\nPyTorchJob train/llm runs on ${before.map((pod) => pod.spec?.nodeName).join(', ')}\n`);
    const failingPod = before.at(-1);
    const node = cluster.nodes.find((one) => one.name === failingPod?.spec?.nodeName);
    if (failingPod === undefined || node === undefined) throw new Error('the job has no pod on a node');
    hooks.agree('reset', { worksMs: 500, answer: { verdict: 'failed', because: 'the GPU does not answer' } });
    hooks.agree('reboot', {
      worksMs: 500,
      act: () => reboot(cluster.api, node),
      answer: { verdict: 'passed', because: 'the machine was told to reboot' },
    });
    hooks.agree('test', { worksMs: 1000, answer: { verdict: 'passed', because: 'diagnostics level 2 passed' } });

    const incident = await watchIncident(cluster, kcover, job, before, print);
    const since = new Date();
    incident.happened(`kernel of ${node.name}: ${line}`);
    await breakGpu(node, line);
    await failContainer(cluster.api, failingPod, { exitCode: 1 });
    incident.happened(`pod ${failingPod.metadata?.name} on ${node.name} failed with exit code 1`);
    const [seen, life] = await Promise.all([incident.ended(), followLife(cluster, node.name, incident.happened)]);
    await hooks.close();
    const remediations = life.remediations.map(({ rung, attempt, outcome, because }) => ({
      rung,
      attempts: attempt,
      outcome,
      proof: because,
    }));
    return {
      seen,
      since,
      facts: { node: node.name, states: life.states, remediations, released: life.outcome.outcome === 'released' },
      lines: [
        ['node', `${node.name}: ${life.states.map(({ state }) => state).join(', ')}`],
        ...remediations.map(({ rung, outcome, proof }) => ['rung', `${rung}: ${outcome}: ${proof}`] as const),
        ['released', life.outcome.because],
      ],
      commands: [`npx kcover node history ${node.name}`],
      ok: life.outcome.outcome === 'released' && remediations.map(({ outcome }) => outcome).join() === 'failed,cured',
    };
  },
};

interface Life {
  readonly states: readonly { readonly state: string; readonly at: string; readonly because: string }[];
  readonly remediations: readonly Remediation[];
  readonly outcome: NodeOutcome;
}

/** Asks the node's workflow for its state until it ends. */
async function followLife(cluster: TestCluster, node: string, happened: (what: string) => void): Promise<Life> {
  const { address, namespace } = cluster.temporal;
  const connection = await Connection.connect({ address });
  const handle = new Client({ connection, namespace }).workflow.getHandle(nodeWorkflowId(node));
  const states: { state: string; at: string; because: string }[] = [];
  let remediations: readonly Remediation[] = [];
  const note = (state: string, because: string): void => {
    if (states.at(-1)?.state === state) return;
    states.push({ state, at: new Date().toISOString(), because });
    happened(`node ${node} is ${state}: ${because}`);
  };
  let outcome: NodeOutcome | undefined;
  while (outcome === undefined) {
    const status = await handle.query<NodeStatus>(statusQuery).catch(() => undefined);
    if (status?.remedy) remediations = status.remedy.remediations;
    if (status && isQuarantined(status)) note(status.phase, status.remedy?.because ?? status.because);
    // Before the first fault it does not run.
    if (states.length > 0 && (await handle.describe()).status.name !== 'RUNNING')
      outcome = (await handle.result()) as NodeOutcome;
    await sleep(50);
  }
  note(outcome.outcome, outcome.because);
  await connection.close();
  return { states, remediations, outcome };
}

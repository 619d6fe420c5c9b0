import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nodeWorkflowId } from '../../contract/ids.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import type { IncidentSummary } from '../../cli/incidents/incident.ts';
import type { Offender } from '../../cli/offenders/offenders.ts';
import { kernelFault, settings } from '../support/builders.ts';
import { eventually } from '../support/rig.ts';
import { kcover } from './kcover.ts';
import { answerOf, type SimulatedCluster, serverEnvironment, simulatedCluster } from './live.ts';

let fixture: SimulatedCluster;
const command = { kind: 'command', command: ['/bin/true'] };

/** The node is quarantined, its first rung fails, and it is on probation after the second. */
beforeAll(async () => {
  fixture = await simulatedCluster();
  const { rig, cluster, node } = fixture;
  const rungs = [
    { hook: 'reset', proof: ['result'] },
    { hook: 'reboot', proof: ['rebooted', 'ready'] },
  ];
  const remediation = {
    mode: 'run',
    hooks: { reset: command, reboot: command },
    ladders: [{ name: 'gpu', codes: ['xid/*'], rungs }],
  };
  cluster.settings = settings({ mode: 'act', remediation });
  cluster.remedies.hook = ({ hook }) => ({ verdict: hook === 'reset' ? 'failed' : 'passed', because: `${hook} ended` });
  const handle = await rig.client.workflow.signalWithStart('nodeQuarantine', {
    workflowId: nodeWorkflowId(node),
    taskQueue: rig.taskQueue,
    args: [{ node }],
    signal: 'faultsObserved',
    signalArgs: [{ faults: [kernelFault({ node })] }],
  });
  await eventually(
    () => handle.query<NodeStatus>('status'),
    ({ phase }) => phase === 'probation',
  );
});
afterAll(async () => {
  if (!fixture) return;
  await fixture.rig.client.workflow
    .getHandle(nodeWorkflowId(fixture.node))
    .executeUpdate('release', { args: [{ by: 'ada', reason: 'the test is over' }] });
  await fixture.rig.client.workflow.getHandle(nodeWorkflowId(fixture.node)).result();
  await fixture.close();
});

describe('the life of a node', () => {
  it('is listed with what its repair does, and its attempts', async () => {
    const found = await eventually(
      async () => (await answerOf<IncidentSummary[]>(['node', 'history', fixture.node])).data,
      (all) => all.length === 1,
    );
    expect(found).toMatchObject([
      {
        outcome: 'open',
        machine: `machine-${fixture.node}`,
        remediations: [{ rung: 'reset', attempt: 1, outcome: 'failed', because: 'reset ended' }],
        remedy: { state: 'probation', until: expect.any(String) },
      },
    ]);
    const { stdout } = await kcover(['node', 'history', fixture.node], '', serverEnvironment());
    expect(stdout).toMatch(/REPAIRED +LASTED +RUNG +ATTEMPT +OUTCOME +BECAUSE +OPERATION\n.* reset +1 +failed/);
  });

  it('is in force as probation in the list of nodes', async () => {
    const { stdout } = await kcover(['node', 'list'], '', serverEnvironment());
    expect(stdout).toMatch(new RegExp(`${fixture.node} +probation .*; probation: the boot id changed`));
  });

  it('counts for its machine', async () => {
    const { data } = await answerOf<Offender[]>(['node', 'list', '--offenders', '--records', fixture.records]);
    expect(data.filter(({ nodes }) => nodes.includes(fixture.node))).toMatchObject([
      { machine: `machine-${fixture.node}`, incidents: 1, retired: false },
    ]);
  });
});

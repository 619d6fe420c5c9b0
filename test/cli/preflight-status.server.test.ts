import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startWorkflow } from '../../cli/clients/start-workflow.ts';
import type { Workload } from '../../contract/preflight/preflight.ts';
import type { PreflightStatus } from '../../contract/preflight/runs.ts';
import { preflightStart } from '../../contract/wire/starts.ts';
import { reportOf } from '../support/preflight-reports.ts';
import { eventually } from '../support/rig.ts';
import { answerOf, type SimulatedCluster, simulatedCluster, serverEnvironment } from './live.ts';
import { kcover, type Ran } from './kcover.ts';

let fixture: SimulatedCluster;
const name = `llm-${randomUUID()}`;

const ask = (...args: readonly string[]): Promise<Ran> =>
  kcover(['preflight', 'status', ...args], '', serverEnvironment());

async function startPreflight(): Promise<string> {
  const workload: Workload = { namespace: 'train', name, uid: randomUUID() };
  const id = await startWorkflow(fixture.rig.client, preflightStart(workload, fixture.rig.taskQueue));
  await fixture.rig.client.workflow
    .getHandle(id)
    .signal('reportsArrived', { reports: [reportOf({ size: 4 }, 0)], refused: [] });
  return workload.uid;
}

beforeAll(async () => {
  fixture = await simulatedCluster();
});
afterAll(() => fixture.close());

describe('kcover preflight status', () => {
  it('queries the running preflight, and lists the missing ranks', async () => {
    const uid = await startPreflight();
    // Visibility is written a moment after the history.
    await eventually(
      () => ask(name, '-n', 'train'),
      ({ code, stdout }) => code === 0 && stdout.includes('1 of 4 reports'),
      60_000,
    );
    const { data } = await answerOf<PreflightStatus>(['preflight', 'status', name, '-n', 'train']);
    expect(data).toMatchObject({
      workload: { name, uid },
      phase: 'collecting',
      run: 1,
      received: 1,
      expected: 4,
      missing: [1, 2, 3],
    });
  });

  it('exits with the code for not found when there is none', async () => {
    const { code, stdout, stderr } = await ask(name, '-n', 'elsewhere');
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain(`because: no preflight of ${name} in namespace elsewhere is known`);
  });
});

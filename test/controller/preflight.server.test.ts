import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { preflightWorkflowId } from '../../contract/ids.ts';
import { type PreflightFileAnswer, preflightPath } from '../../contract/preflight/files.ts';
import { batchJob, pytorchJob } from '../../testbed/job-manifests.ts';
import { createJob, placeOf, type RunningJob } from '../../testbed/jobs.ts';
import { awaitTesters, endTest, type Tester, testsFirst } from '../../testbed/preflight.ts';
import { until } from '../../testbed/until.ts';
import { LiveController, run } from './live-controller.ts';

let rig: LiveController;
let node: string;
let token: string;

beforeAll(async () => {
  rig = await LiveController.open();
  node = (await rig.agentOf(0)).node;
  token = await rig.tokenOf(0);
});
afterAll(() => rig?.close());

/** Tests the node of this agent. */
const shape = (name: string) => ({
  name: `${name}-${run}`,
  gpus: 0,
  ...testsFirst,
  nodeSelector: { 'kubernetes.io/hostname': node },
});
const indexed = (name: string) => createJob(rig.api, batchJob({ ...shape(name), pods: 2 }));
const testers = (job: RunningJob): Promise<Tester[]> => awaitTesters(rig.api, [], job);
const remove = (job: RunningJob) =>
  rig.api.custom.deleteNamespacedCustomObject({ ...placeOf(job), propagationPolicy: 'Background' });

const file = (job: RunningJob, rank: number, writtenAt: Date, reported = node) => ({
  namespace: job.namespace,
  workload: job.name,
  rank,
  writtenAt: writtenAt.toISOString(),
  report: { size: 2, rank, node: reported, address: '', tests: [] },
});

async function send(...files: object[]): Promise<readonly PreflightFileAnswer[]> {
  const { status, body } = await rig.post(
    { schema: 1, node, sentAt: new Date().toISOString(), files },
    token,
    rig.controller,
    preflightPath,
  );
  expect(status).toBe(200);
  return (body as { files: PreflightFileAnswer[] }).files;
}

/** Like an agent: sends again while the answer is to wait. */
const sendUntilAnswered = (sent: object): Promise<PreflightFileAnswer> =>
  until('the file has its answer', 60_000, async () => {
    const [answer] = await send(sent);
    return answer && answer.answer !== 'wait' ? { found: answer } : { missing: answer?.because ?? 'no answer' };
  });

describe('the collection of preflight reports', () => {
  it('takes a file that was written while its pod tested, once the test is over', async () => {
    const job = await indexed('bench');
    const [first] = await testers(job);
    if (!first) throw new Error('no pod');
    const report = file(job, 0, new Date());
    expect(await send(report)).toEqual([{ answer: 'wait', because: expect.any(String) }]);
    await endTest(rig.api, first, 1);
    expect(await sendUntilAnswered(report)).toEqual({ answer: 'accepted' });

    const id = preflightWorkflowId(job);
    const signals = await rig.awaitSignal(id, 'reportsArrived');
    expect(signals.indexOf('podsTesting')).toBe(0);
    await remove(job);
    await rig.awaitSignal(id, 'podsGone');
  });

  it('knows the rank of a worker beside a master', async () => {
    const job = await createJob(rig.api, pytorchJob({ ...shape('llm'), workers: 1 }));
    const [, worker] = await testers(job);
    if (!worker) throw new Error('no pod');
    const report = file(job, 1, new Date());
    await endTest(rig.api, worker, 0);
    expect(await sendUntilAnswered(report)).toEqual({ answer: 'accepted' });
    await rig.awaitSignal(preflightWorkflowId(job), 'reportsArrived');
    await remove(job);
  });

  it('notifies the workload of a file that names another node, and accepts nothing that is older than its pod', async () => {
    const job = await indexed('forged');
    const [first] = await testers(job);
    if (!first) throw new Error('no pod');
    await endTest(rig.api, first, 0);
    expect(await sendUntilAnswered(file(job, 0, new Date(), 'another'))).toEqual({
      answer: 'refused',
      because: 'other-node: it names node another',
    });
    expect(await sendUntilAnswered(file(job, 0, new Date(Date.now() - 3600_000)))).toMatchObject({
      answer: 'refused',
      because: expect.stringMatching(/^stale: /),
    });
    await rig.awaitSignal(preflightWorkflowId(job), 'reportsArrived');
    await remove(job);
  });

  it('announces a set of pods whose tests it did not observe before it accepts their reports', async () => {
    await rig.controller.stop();
    const job = await indexed('unseen');
    const [first, second] = await testers(job);
    if (!first || !second) throw new Error('no pods');
    const report = file(job, 0, new Date());
    for (const each of [first, second]) await endTest(rig.api, each, 0);
    await rig.startAgain('later');
    expect(await sendUntilAnswered(report)).toEqual({ answer: 'accepted' });
    const signals = await rig.awaitSignal(preflightWorkflowId(job), 'reportsArrived');
    expect(signals.indexOf('podsTesting')).toBe(0);
    await remove(job);
  });

  it('notifies a workflow whose pods were deleted while no controller led', async () => {
    const job = await indexed('gone');
    await testers(job);
    const id = preflightWorkflowId(job);
    await rig.awaitSignal(id, 'podsTesting');
    await until('it is listed', 60_000, async () => {
      const { count } = await rig.temporal.workflow.count(`WorkflowId = '${id}'`);
      return count > 0 ? { found: count } : { missing: 'not yet' };
    });
    await rig.controller.stop();
    await remove(job);
    await until('its pods are gone', 60_000, async () => {
      const { items } = await rig.api.core.listNamespacedPod({ namespace: job.namespace, labelSelector: job.selector });
      return items.length === 0 ? { found: true } : { missing: `${items.length} left` };
    });
    await rig.startAgain('again');
    await rig.awaitSignal(id, 'podsGone');
  });

  it('ignores pods of a namespace that settings do not name', async () => {
    await rig.controller.stop();
    await rig.startAgain('narrow', { namespaces: ['another'] });
    const job = await indexed('elsewhere');
    const [first] = await testers(job);
    if (!first) throw new Error('no pod');
    const report = file(job, 0, new Date());
    await endTest(rig.api, first, 0);
    expect(await sendUntilAnswered(report)).toEqual({
      answer: 'refused',
      because: 'namespace: preflight.namespaces of the controller does not name default',
    });

    await rig.controller.stop();
    await rig.startAgain('wide', { namespaces: ['another', 'default'] });
    expect(await rig.signalsOf(preflightWorkflowId(job))).toEqual([]);
    expect(await sendUntilAnswered(report)).toEqual({ answer: 'accepted' });
    await rig.awaitSignal(preflightWorkflowId(job), 'reportsArrived');
    await remove(job);
  });
});

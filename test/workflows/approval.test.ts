import { describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { Question } from '../../contract/recovery/plan.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { settings } from '../support/builders.ts';
import { ada, degrading, ends, quick, recovering, trains } from '../support/training-recovery.ts';
import { useJobRig } from '../support/job-rig.ts';
import { eventually } from '../support/rig.ts';

const statusOf = (recovery: WorkflowHandle) => recovery.query<RecoveryStatus>('status');

/** The open question, once it is about `name`. */
const asked = async (recovery: WorkflowHandle, name: string): Promise<Question> => {
  const isAbout = ({ question }: RecoveryStatus) => question?.id.startsWith(`${name}@`) === true;
  const { question } = await eventually(() => statusOf(recovery), isAbout);
  if (!question) throw new Error('no question is open');
  return question;
};

const answer = (recovery: WorkflowHandle, update: 'approve' | 'deny', question?: string) =>
  recovery.executeUpdate(update, { args: [{ ...ada, ...(question !== undefined && { question }) }] });

describe('a question', () => {
  const jobRig = useJobRig();
  const begin = async (recovery: object): Promise<WorkflowHandle> => {
    jobRig.cluster.settings = settings({
      mode: 'act',
      recovery: { ...quick, checkpoint: { strategy: 'none' }, approval: { degrading: 1 }, ...recovery },
    });
    trains(jobRig);
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [jobRig.cluster.quarantined(degrading())] });
    return handle;
  };

  it('that was replaced takes no answer, and the one after it stays open', async () => {
    jobRig.cluster.capacity = { fit: 3, because: '1 node: cordoned' };
    const handle = await begin({ capacity: { short: 'ask' } });
    const recovery = await recovering(jobRig, handle, 'waiting for approval');
    const first = await asked(recovery, 'stop');
    expect(first).toMatchObject({ because: expect.stringContaining('an approval is needed'), otherwise: 'deny' });
    expect((await statusOf(recovery)).waitingFor).toContain(`--question ${first.id} --reason`);
    expect(await answer(recovery, 'approve', first.id)).toMatchObject({ approved: true, question: first });

    const second = await asked(recovery, 'capacity');
    await expect(answer(recovery, 'deny', first.id)).rejects.toMatchObject({
      cause: {
        message: expect.stringContaining(
          `${first.id} is not open: the open question is ${second.id}, because ${second.because}`,
        ),
      },
    });
    expect((await statusOf(recovery)).question).toEqual(second);
    await answer(recovery, 'approve', second.id);
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.records[0]?.approvals).toMatchObject([{ question: first.id }, { question: second.id }]);
    await jobRig.ended(handle);
  });

  it('that is denied while the recovery is held ends it at once, though there is capacity again', async () => {
    jobRig.cluster.capacity = { fit: 3, because: '1 node: cordoned' };
    const handle = await begin({ capacity: { short: 'ask' }, approval: {} });
    const recovery = await recovering(jobRig, handle, 'waiting for approval');
    const question = await asked(recovery, 'capacity');
    jobRig.cluster.paused = { by: 'bob', reason: 'maintenance' };
    await recovery.signal('recheck');
    await eventually(
      () => statusOf(recovery),
      ({ phase }) => phase === 'held',
    );
    jobRig.cluster.capacity = {};
    await answer(recovery, 'deny', question.id);
    expect(await ends(jobRig, handle, 'refused')).toContain('denied by ada');
    expect(jobRig.cluster.stopped).toEqual([]);
    await jobRig.ended(handle);
  });

  it('stays open while the recovery is held for something else, with the time that was left, and a person may answer without naming it', async () => {
    const handle = await begin({});
    const recovery = await recovering(jobRig, handle, 'waiting for approval');
    const question = await asked(recovery, 'stop');
    jobRig.cluster.paused = { by: 'bob', reason: 'maintenance' };
    await recovery.signal('recheck');
    const held = await eventually(
      () => statusOf(recovery),
      ({ phase }) => phase === 'held',
    );
    expect(held.question).toEqual(question);
    jobRig.cluster.paused = undefined;
    await recovery.signal('recheck');
    const again = await eventually(
      () => statusOf(recovery),
      ({ phase }) => phase === 'waiting for approval',
    );
    expect(again.question?.id).toBe(question.id);
    expect(Date.parse(again.question?.until ?? '')).toBeGreaterThan(Date.parse(question.until));
    await answer(recovery, 'approve');
    expect((await statusOf(recovery)).question).toBeUndefined();
    await ends(jobRig, handle, 'recovered');
    expect(jobRig.cluster.records[0]?.approvals).toMatchObject([{ question: question.id, by: 'ada' }]);
    await jobRig.ended(handle);
  });
});

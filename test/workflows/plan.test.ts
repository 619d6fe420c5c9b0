import { describe, expect, it } from '@jest/globals';
import { type PlanReport, planOf } from '../../cli/plan/plan.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import type { JobOverrides } from '../../contract/job/job-overrides.ts';
import type { CapacityFacts } from '../../contract/recovery/plan.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { jobView, settings } from '../support/builders.ts';
import { type JobRig, useJobRig } from '../support/job-rig.ts';
import { crash, degrading, ends, quick, trains } from '../support/training-recovery.ts';

/** Which step of a plan a line in the timeline of an incident is about. */
const steps: readonly (readonly [RegExp, string])[] = [
  [/^asked the processes$/, 'in-process'],
  [/^evidence kept$/, 'evidence'],
  [/^(no checkpoint awaited|waiting for a checkpoint|checkpoint acknowledged)$/, 'checkpoint'],
  [/^(capacity|shrinks|the whole job next|standby nodes taken)$/, 'capacity'],
  [/^attempt \d+ stopped$/, 'stop'],
  [/^all pods run$/, 'restart'],
  [/^recovered$/, 'verify'],
];
const stepsIn = ({ timeline }: IncidentRecord) =>
  timeline.flatMap(({ what }) => steps.find(([line]) => line.test(what))?.[1] ?? []);

function planned({ cluster }: JobRig, fault: Fault): Promise<PlanReport> {
  const at = new Date().toISOString();
  const { observeCapacity } = cluster.activities();
  const attempt = {
    job: cluster.view ?? jobView(),
    pods: cluster.pods,
    nodes: [...cluster.nodes.values()],
    undecided: [],
  };
  const known = { fresh: [fault], handled: [], usage: [] };
  return planOf({ schema: 1, at, settings: {}, attempt, known, unseen: [] }, cluster.settings, () =>
    observeCapacity({ job: cluster.job }),
  );
}

describe('kcover plan', () => {
  const jobRig = useJobRig();

  it.each<[string, Partial<JobOverrides>, (rig: JobRig) => Fault, Partial<CapacityFacts>]>([
    ['a job that trains on until its next checkpoint', {}, ({ cluster }) => cluster.quarantined(degrading()), {}],
    [
      'a job that saves a checkpoint on termination',
      { checkpoint: 'on-termination' },
      ({ cluster }) => cluster.quarantined(degrading()),
      {},
    ],
    ['one broken pod', { level: 'pod' }, crash, {}],
    ['processes that do not go on', { level: 'process' }, crash, {}],
    [
      'broken pods for which only a smaller job has capacity',
      { level: 'pod', capacity: 'shrink', minReplicas: 2 },
      crash,
      { fit: 3 },
    ],
    ['standby nodes', { capacity: 'standby' }, crash, { fit: 3, fitWithStandby: 4, standbyNodes: ['gpu-9'] }],
  ])('says the steps that a recovery then takes, for %s', async (_what, overrides, faultIn, capacity) => {
    const { cluster } = jobRig;
    cluster.settings = settings({ mode: 'act', recovery: quick });
    cluster.capacity = capacity;
    const { verified } = cluster;
    cluster.verified = (beyond) =>
      cluster.stopped.length === 0 ? { kind: 'unverified', because: 'no step' } : verified(beyond);
    trains(jobRig, overrides);
    const fault = faultIn(jobRig);
    const plan = await planned(jobRig, fault);
    const handle = await jobRig.start();
    await handle.signal('faultsObserved', { faults: [fault] });
    await ends(jobRig, handle, 'recovered');

    const [record] = cluster.records;
    expect(plan.steps.map(({ step }) => step)).toEqual(record && stepsIn(record));
    const { recovery: decided } = plan.decisions;
    expect(record?.decisions.at(-1)).toMatchObject({
      kind: decided?.kind,
      because: decided?.because,
      blame: decided?.blame,
    });
    expect(record?.capacity?.at(-1)?.because).toBe(plan.decisions.capacity?.because);
    await jobRig.ended(handle);
  });
});

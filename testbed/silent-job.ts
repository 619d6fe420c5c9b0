/** Demo: a job tells kcover nothing, and hangs. Its logs have two witnesses of that; it is restarted, and its log proves that it trains again. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { IncidentRecord } from '../contract/recovery/recovery.ts';
import { setUpDemo } from './demo-fixture.ts';
import { readRecord, watchIncident } from './incident.ts';
import { podsOf } from './jobs.ts';
import { isTrue, proofLines, proofOf } from './proof.ts';
import { startSilentTrainer, watchdogsReport } from './silent-trainer.ts';
import type { Story } from './story.ts';
import { awaitProgress, endsSlowly, rankIn, shortReports } from './trainer.ts';
import { until } from './until.ts';

const training = { msPerStep: 200, stepsPerCheckpoint: 25, from: 1200 } as const;

/** The rank that stops joining the others. */
const hanging = 2;

/** Time-out of a collective; 10 minutes by default in PyTorch. */
const watchdogMs = 2000;

/** Seconds stand for the minutes of a real training. */
const shortHang = {
  agentSettings: { ...shortReports.agentSettings, heartbeat: '1s' },
  controllerSettings: { progress: { ...shortReports.controllerSettings.progress, hang: { times: 10, least: '6s' } } },
  workerSettings: { recovery: { hang: { response: 'recover' } } },
} as const;

export const silentJob: Story = {
  nodes: 8,
  set: (options) => setUpDemo({ ...options, ...shortHang }, { workers: 3, ...endsSlowly }),
  async run(fixture, print) {
    const { cluster, kcover, job } = fixture;
    const before = await podsOf(cluster.api, job);
    print(`\nPyTorchJob train/llm runs on ${before.map((pod) => pod.spec?.nodeName).join(', ')}`);
    const trainer = startSilentTrainer(cluster, job, training);
    const { step, checkpointStep } = await awaitProgress(
      cluster.api,
      job,
      (progress) => progress.pace !== undefined && (progress.checkpointStep ?? 0) > training.from && progress,
    );
    print(
      `The job reported nothing to kcover; from the logs it knows step ${step}, and a checkpoint of step ${checkpointStep}\n`,
    );

    const rank = before.find((pod) => rankIn(before, pod) === hanging);
    const incident = await watchIncident(cluster, kcover, job, before, print);
    const since = new Date();
    trainer.stall();
    incident.happened(`rank ${hanging} on ${rank?.spec?.nodeName} no longer joins the others; all pods run`);
    await sleep(watchdogMs);
    await watchdogsReport(cluster, job, hanging);
    incident.happened('the NCCL watchdogs of the other ranks write to their logs');
    const seen = await incident.ended();
    const reached = trainer.step;
    await trainer.stop();
    const proof = await proofOf(fixture, before);
    const { witnesses = [], suspects = [] } = hangOf(await until('the record', 10_000, () => readRecord(kcover, job)));
    return {
      seen,
      since,
      facts: { ...proof, witnesses, suspects },
      lines: [
        ...proofLines(proof),
        ['witnesses', witnesses.join('; ')],
        ['suspects', suspects.map(({ pod, node, because }) => `${pod} on ${node}: ${because}`).join('; ')],
      ],
      commands: [`npx kcover report ${seen.incident}`],
      ok: isTrue(proof, reached) && witnesses.length >= 2 && suspects.some(({ pod }) => pod === rank?.metadata?.name),
    };
  },
};

const hangOf = ({ faults }: IncidentRecord): IncidentRecord['faults'][number] | Record<string, never> =>
  faults.find(({ witnesses }) => witnesses !== undefined) ?? {};

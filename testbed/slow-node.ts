/** Demo: sixteen nodes are tested before a job trains; one of them is slow, and the job starts without it. */

import { Client, Connection } from '@temporalio/client';
import { preflightWorkflowId } from '../contract/ids.ts';
import { statusQuery } from '../contract/wire/messages.ts';
import type { PreflightRun, PreflightStatus } from '../contract/preflight/runs.ts';
import { watchIncident } from './incident.ts';
import type { RunningJob } from './jobs.ts';
import { passed, type RawReport } from './preflight-measures.ts';
import { awaitTesters, leave, measured, playPreflight, testsFirst } from './preflight.ts';
import { setUpDemoBefore } from './demo-fixture.ts';
import type { Story } from './story.ts';
import { until } from './until.ts';
import type { TestCluster } from './test-cluster.ts';

const tested = 16;

export const slowNode: Story = {
  nodes: tested + 2,
  set: (options) => setUpDemoBefore(options, { workers: tested - 1, ...testsFirst }),
  async run({ cluster, kcover, job }, print) {
    const testers = await awaitTesters(cluster.api, cluster.nodes, job);
    const slow = testers[11]?.node ?? '';
    const reports = measured(job, testers, { slow: [slow] });
    const rounds = reports[0]?.batches.length ?? 0;
    print(`\nPyTorchJob train/llm has ${tested} pods on ${testers.map(({ node }) => node).join(', ')}.`);
    print(
      `Before it trains, a preflight container on each of them measures ${rounds} pairs. A link of ${slow} is slow.\n`,
    );

    const before = testers.map(({ pod }) => pod);
    const incident = await watchIncident(cluster, kcover, job, before, print);
    const since = new Date();
    incident.happened(`${tested} preflight containers end: ${howMany(reports)}`);
    await leave(cluster.api, job, testers, reports);
    const first = await judged(cluster, job, 1);
    const verdict = first.verdict;
    incident.happened(`verdict on ${first.received} of ${first.expected} reports (${verdict?.rule}): ${first.because}`);

    const again = await playPreflight(
      cluster.api,
      cluster.nodes,
      job,
      { slow: [slow], seed: 2 },
      new Set(before.map(({ metadata }) => metadata?.uid ?? '')),
    );
    incident.happened(`${tested} new preflight containers end: ${howMany(again.reports)}`);
    const second = await judged(cluster, job, 2);
    const seen = await incident.ended();
    const slowNodes = verdict?.slow.map(({ node }) => node) ?? [];
    const undetermined = verdict?.undetermined.map(({ node }) => node) ?? [];
    const confidence = verdict?.confidence ?? 0;
    return {
      seen,
      since,
      facts: { slowNodes, undetermined, confidence, reports: first.received },
      lines: [
        [
          'slow',
          (verdict?.slow ?? [])
            .map((one) => `${one.node}: ${one.because} (confidence ${one.confidence.toFixed(3)})`)
            .join('; '),
        ],
        ['preflight', `${first.received} reports judged, then ${second.received} of the new pods: ${second.because}`],
      ],
      commands: ['npx kcover preflight status llm -n train'],
      ok:
        slowNodes.length === 1 &&
        slowNodes[0] === slow &&
        (seen.outcome === 'restarted' || seen.outcome === 'recovered'),
    };
  },
};

function howMany(reports: readonly RawReport[]): string {
  const failed = reports.filter((report) => !passed(report)).length;
  return failed === 0
    ? 'no pair was slow'
    : `${failed} saw a pair below ${reports[0]?.node_check_busbw_threshold_gbps} GiB/s, ${reports.length - failed} did not`;
}

/** Waits for the verdict of this run, and until it has been reported. */
async function judged(cluster: Pick<TestCluster, 'temporal'>, job: RunningJob, run: number): Promise<PreflightRun> {
  const connection = await Connection.connect({ address: cluster.temporal.address });
  try {
    const handle = new Client({ connection, namespace: cluster.temporal.namespace }).workflow.getHandle(
      preflightWorkflowId(job),
    );
    return await until(`verdict of run ${run}`, 120_000, async () => {
      const { last, phase, because } = await handle.query<PreflightStatus>(statusQuery);
      return last !== undefined && last.run >= run && phase !== 'judging'
        ? { found: last }
        : { missing: `${phase}: ${because}` };
    });
  } finally {
    await connection.close();
  }
}

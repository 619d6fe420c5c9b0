import { describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { workerSettings } from '../../contract/settings/settings.schema.ts';
import { decideFile } from '../../controller/preflight/decide-file.ts';
import { shareOf } from '../../controller/preflight/node-share.ts';
import { openPodTable } from '../../controller/preflight/pod-table.ts';
import { type PreflightPod, preflightPodOf } from '../../kube/pods/preflight-pods.ts';
import { decidePreflight } from '../../policy/preflight/preflight.ts';
import { job } from '../support/builders.ts';

const gpu = 'nvidia.com/gpu';
/** Seconds after 07:00. */
const at = (seconds: number): Date => new Date(Date.UTC(2026, 10, 21, 7, 0, seconds));

interface PodCase {
  readonly gpus: number;
  /** Seconds; undefined: it was not admitted. */
  readonly admitted?: number;
  readonly tested?: readonly [from: number, until?: number];
  readonly phase?: 'Running' | 'Pending' | 'Failed';
  readonly terminating?: boolean;
}

function stateOf(tested: PodCase['tested']) {
  if (!tested) return undefined;
  const [from, until] = tested;
  return until === undefined
    ? { running: { startedAt: at(from) } }
    : { terminated: { exitCode: 1, startedAt: at(from), finishedAt: at(until) } };
}

function podOf(rank: number, { gpus, admitted, tested, phase = 'Failed', terminating = false }: PodCase): PreflightPod {
  const resources = { limits: { [gpu]: String(gpus) } };
  const state = stateOf(tested);
  const pod: V1Pod = {
    metadata: {
      namespace: 'train',
      name: `llm-${rank}`,
      uid: `p${rank}`,
      creationTimestamp: at(0),
      ...(terminating && { deletionTimestamp: at(60) }),
      labels: {
        'kcover.io/preflight': 'true',
        'batch.kubernetes.io/job-name': 'llm',
        'batch.kubernetes.io/job-completion-index': String(rank),
      },
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'llm', uid: job.uid, controller: true }],
    },
    spec: {
      nodeName: 'gpu-1',
      initContainers: [{ name: 'preflight', resources }],
      containers: [{ name: 'train', resources }],
    },
    status: {
      phase,
      ...(admitted !== undefined && { startTime: at(admitted) }),
      ...(state && {
        initContainerStatuses: [{ name: 'preflight', image: '', imageID: '', ready: false, restartCount: 0, state }],
      }),
    },
  };
  const found = preflightPodOf(pod, false);
  if (!found) throw new Error('the pod tests nothing');
  return found;
}

/** A failed test of a pod that does not restart. */
const failed: PodCase = { gpus: 4, admitted: 1, tested: [10, 70] };

describe('what a pod and those beside it hold of their node', () => {
  it.each<[sentence: string, own: PodCase, beside: PodCase[], asked: number]>([
    ['is added up where all tested at once and all failed', failed, [failed], 8],
    [
      'is added up where they were admitted together and failed one after the other',
      { ...failed, tested: [5, 5] },
      [{ ...failed, tested: [7, 7] }],
      8,
    ],
    ['is added up with one that failed and is terminating', failed, [{ ...failed, terminating: true }], 8],
    ['is added up with one that trains already', failed, [{ ...failed, phase: 'Running', tested: [3, 5] }], 8],
    [
      'is added up with one that still tests and is terminating',
      failed,
      [{ ...failed, phase: 'Pending', tested: [12], terminating: true }],
      8,
    ],
    [
      'leaves out one that was over before this one began',
      { ...failed, admitted: 8 },
      [{ ...failed, tested: [2, 5] }],
      4,
    ],
    [
      'leaves out one that ended in the second in which this one began',
      { ...failed, admitted: 5 },
      [{ ...failed, tested: [2, 5] }],
      4,
    ],
    ['leaves out one that the kubelet did not admit', failed, [{ gpus: 4, phase: 'Failed' }], 4],
    ['leaves out one that was refused', failed, [{ gpus: 4, phase: 'Failed', admitted: 1 }], 4],
    ['leaves out one that is there and did not begin', failed, [{ gpus: 4, phase: 'Pending', admitted: 1 }], 4],
    [
      'is no sum of pods that came one after the other',
      { ...failed, gpus: 1 },
      [10, 20, 30, 40, 50, 60].map((second) => ({ gpus: 1, admitted: second, tested: [second + 1, second + 9] })),
      2,
    ],
  ])('%s', (_, own, beside, asked) => {
    const [first, ...others] = [own, ...beside].map((podCase, rank) => podOf(rank, podCase));
    expect(first && shareOf({ [gpu]: 8 }, first, others)).toEqual({ asked, of: 8 });
  });

  it('convicts a broken node whose pods all failed, also where the first is deleted before the second reports', () => {
    const table = openPodTable(() => 0);
    const pods = [0, 1].map((rank) => podOf(rank, failed));
    pods.forEach(table.put);
    const share = (pod: PreflightPod) => shareOf({ [gpu]: 8 }, pod, table.beside(pod));
    table.leave('p0');
    const reports = pods.map((pod, rank) => {
      const report = { size: 2, rank, node: 'gpu-1', address: '', tests: [], failed: ['gpu' as const] };
      const file = { namespace: 'train', workload: 'llm', rank, writtenAt: at(69).toISOString(), report };
      const decision = decideFile(file, 'gpu-1', {
        pods: [pod],
        isUpToDate: true,
        fresh: false,
        share,
        sentAt: at(75).toISOString(),
      });
      if (decision.answer !== 'accepted') throw new Error(decision.answer);
      return decision.report;
    });
    expect(reports.map((report) => report.share)).toEqual([
      { asked: 8, of: 8 },
      { asked: 8, of: 8 },
    ]);
    const workload = { namespace: 'train', name: 'llm', uid: job.uid, job };
    const decision = decidePreflight(
      { workload, run: 1, size: 2, reports, notified: [], evidence: 'complete' },
      workerSettings.parse({ mode: 'act' }),
    );
    expect(decision.failed).toMatchObject([{ node: 'gpu-1' }, { node: 'gpu-1' }]);
    expect(decision.faults).toHaveLength(1);
  });
});

describe('the pods beside one', () => {
  it('are those of its workload on its node, also when they went a short while ago', () => {
    const clock = { now: 0 };
    const table = openPodTable(() => clock.now);
    const [own, other, elsewhere] = [
      podOf(0, failed),
      podOf(1, failed),
      { ...podOf(2, failed), node: 'gpu-2' },
    ] as const;
    const stranger = { ...podOf(3, failed), workload: { ...own.workload, uid: 'another' } };
    for (const pod of [own, other, elsewhere, stranger]) table.put(pod);
    table.leave('p1');
    expect(table.beside(own).map(({ name }) => name)).toEqual(['llm-1']);
    clock.now = 30 * 60_000;
    table.leave('p2');
    expect(table.beside(own)).toEqual([]);
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { capturing } from '../../../activities/evidence/evidence.ts';
import { EvidenceCollector } from '../../../activities/evidence/collector.ts';
import { directoryEvidence } from '../../../activities/evidence/store.ts';
import { KcoverError } from '../../../contract/errors.ts';
import {
  evidenceLimits,
  type Evidence,
  type EvidenceFile,
  type EvidenceRequest,
} from '../../../contract/recovery/evidence.ts';
import { builtInPatterns } from '../../../faults/redaction/built-in.ts';
import { FakeEvidenceSource, never, podOf } from '../fake-evidence-source.ts';

let directory = '';
let source: FakeEvidenceSource;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-evidence-'));
  source = new FakeEvidenceSource();
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const storeOf = () => directoryEvidence({ directory, keepMs: 3_600_000, most: 2 ** 30, share: 100, now: Date.now });
const uncancelled = new AbortController().signal;
const capture = (more: Partial<EvidenceRequest> = {}, cancelled = uncancelled): Promise<Evidence> =>
  capturing({ source, store: storeOf(), patterns: builtInPatterns, cancelled }, source.request(more));

const read = (evidence: Evidence, file: string): Promise<string> => readFile(join(evidence.address, file), 'utf8');
const indexOf = async (evidence: Evidence): Promise<EvidenceFile[]> =>
  JSON.parse(await read(evidence, 'index.json')) as EvidenceFile[];
const unreachable = (because: string) =>
  Promise.reject(new KcoverError('kube.unreachable', because, { what: 'no kubelet returned the logs' }));

describe('what is kept of an attempt', () => {
  it('is state and log of every rank, the blamed nodes and the job, each in its file', async () => {
    const evidence = await capture();
    expect(evidence).toMatchObject({ attempt: 1, ranks: 4, of: 4, files: 10 });
    expect(evidence).not.toHaveProperty('because');
    const index = await indexOf(evidence);
    expect(index.map(({ file }) => file).toSorted()).toEqual(
      (await readdir(evidence.address)).filter((file) => file !== 'index.json').toSorted(),
    );
    expect(evidence.bytes).toBe(index.reduce((sum, { bytes }) => sum + bytes, 0));
    expect(await read(evidence, 'pod_llm-2_pytorch.log')).toBe('llm-2 trains\n');
    expect(JSON.parse(await read(evidence, 'job.json'))).toMatchObject({
      annotations: { 'kcover.io/step': '1200' },
      status: { conditions: [{ type: 'Running' }] },
    });
    expect(JSON.parse(await read(evidence, 'node_gpu-3.json'))).toMatchObject({
      taints: [{ key: 'kcover.io/quarantine' }],
    });
  });

  it('names the rank whose log has no watchdog line while the others have one', async () => {
    const watchdog = (rank: string) =>
      `2026-11-22T12:10:00Z [rank${rank}]:[E ProcessGroupNCCL.cpp:632] [Rank ${rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE\n`;
    source.text = (pod) =>
      Promise.resolve(`2026-11-22T12:00:00Z trains\n${pod === 'llm-2' ? '' : watchdog(pod.slice(-1))}`);
    expect((await capture()).suspects).toEqual([
      {
        pod: 'llm-2',
        node: 'gpu-2',
        because: 'no watchdog line, while 3 of 4 logs have one: it did not wait as they did',
      },
    ]);
    source.text = (pod) => (pod === 'llm-2' ? unreachable('gone') : Promise.resolve(watchdog(pod.slice(-1))));
    expect(await capture()).not.toHaveProperty('suspects');
  });

  it('never holds environment, arguments or annotations of others', async () => {
    const evidence = await capture();
    for (const { file } of await indexOf(evidence)) expect(await read(evidence, file)).not.toContain('ENV-VALUE');
  });

  it('is asked for in the order that was given, with the log before a restart and none of a container that waits', async () => {
    const state = { name: 'pytorch', image: '', imageID: '', ready: false, restartCount: 1 };
    const died = { lastState: { terminated: { exitCode: 1, message: 'password=hunter2' } } };
    source.present[3] = podOf(3, { containerStatuses: [{ ...state, ...died, state: { running: {} } }] });
    source.present[0] = podOf(0, {
      containerStatuses: [{ ...state, state: { waiting: { reason: 'ImagePullBackOff' } } }],
    });
    const evidence = await capture({ pods: source.request().pods.toReversed() });
    expect(source.asked).toEqual(['llm-3', 'llm-3 before', 'llm-2', 'llm-1']);
    expect(evidence).toMatchObject({ ranks: 4 });
    expect(await read(evidence, 'pod_llm-3_pytorch_previous.log')).toBe('llm-3 died\n');
    expect(await read(evidence, 'pod_llm-3.json')).not.toContain('hunter2');
  });

  it('has Events of each object, the newest', async () => {
    const events = Array.from({ length: 30 }, (_, n) => ({
      at: `${n}`,
      type: 'Warning',
      reason: `R${n}`,
      message: 'x',
      count: 1,
      from: 'kubelet',
    }));
    source.events = (of) =>
      Promise.resolve({ of: new Map(of === 'pods' ? [['uid-1', events]] : []), more: of === 'pods' });
    const evidence = await capture();
    expect(JSON.parse(await read(evidence, 'pod_llm-1_events.json'))).toEqual(events.slice(0, evidenceLimits.events));
    expect(evidence.because).toBe('some Events of pods: there are too many to read');
  });

  it('has the kernel lines around the faults in a file for each node, also of one that is gone', async () => {
    source.node = () => Promise.resolve(undefined);
    const kernel = [
      { node: 'gpu-3', lines: ['NVRM: Xid 79', 'password=hunter2'] },
      { node: 'gpu-1', lines: Array.from({ length: 300 }, (_, n) => `line ${n}`) },
      { node: 'gpu-3', lines: ['NVRM: Xid 48'] },
      { node: 'gpu-2', lines: [] },
    ];
    const evidence = await capture({ kernel });
    expect(await read(evidence, 'node_gpu-3_kernel.log')).toBe(
      'NVRM: Xid 79\npassword=[redacted: password]\nNVRM: Xid 48\n',
    );
    expect((await read(evidence, 'node_gpu-1_kernel.log')).split('\n').slice(0, -1)).toHaveLength(
      evidenceLimits.logLines,
    );
    expect((await indexOf(evidence)).filter(({ what }) => what === 'kernel')).toMatchObject([
      { file: 'node_gpu-1_kernel.log', cut: true },
      { file: 'node_gpu-3_kernel.log', redacted: 1 },
    ]);
  });

  it('is redacted before it is written, and redactions are counted', async () => {
    source.text = () => Promise.resolve('fine\nexport DB_PASSWORD=hunter2\n');
    const evidence = await capture();
    expect(await read(evidence, 'pod_llm-0_pytorch.log')).toBe('fine\nexport DB_PASSWORD=[redacted: password]\n');
    expect((await indexOf(evidence)).filter(({ what }) => what === 'log').map(({ redacted }) => redacted)).toEqual([
      1, 1, 1, 1,
    ]);
  });
});

describe('what cannot be read is left out and reported', () => {
  it.each<[string, () => void, string, number]>([
    [
      'no kubelet',
      () => (source.text = () => unreachable('dial')),
      'logs of 4 pods: no kubelet returned the logs (first: dial)',
      4,
    ],
    [
      'no right to read logs',
      () => (source.text = () => Promise.reject(new KcoverError('kube.forbidden', 'x'))),
      'logs of 4 pods: kcover may not do this (first: x)',
      4,
    ],
    [
      'logs that were cleaned up',
      () => (source.text = () => Promise.resolve(undefined)),
      'logs of 4 pods: there are none',
      4,
    ],
    ['a node that is gone', () => (source.node = () => Promise.resolve(undefined)), 'node gpu-3: it is gone', 4],
    ['a job that was replaced', () => (source.jobObject.metadata = { uid: 'another' }), 'the job: it is gone', 4],
    [
      'a pod under the same name',
      () => (source.present = [podOf(0), podOf(1), podOf(2), { ...podOf(3), metadata: { uid: 'new' } }]),
      'state of 1 pod: gone before they were read',
      3,
    ],
  ])('%s', async (_, change, because, ranks) => {
    const request = source.request();
    change();
    const evidence = await capture({ pods: request.pods });
    expect(evidence.because ?? '').toBe(because);
    expect(evidence.ranks).toBe(ranks);
  });

  it('waits a moment for an API server that starts again', async () => {
    const { pods } = source;
    let asked = 0;
    source.pods = () => (++asked < 3 ? unreachable('starting') : pods());
    expect(await capture()).toMatchObject({ ranks: 4 });
  });

  it.each<[string, () => void, RegExp]>([
    [
      'an API server that hangs',
      () => Object.assign(source, { pods: never, job: never, node: never, events: never }),
      /all pods: no time was left/,
    ],
    ['kubelets that hang', () => (source.text = never), /logs of 4 pods: no (answer within \d+ms|time was left)/],
  ])('is cut at the deadline: %s', async (_, change, because) => {
    change();
    const evidence = await capture({ deadlineMs: 500 });
    expect(evidence.because).toMatch(because);
    expect(await indexOf(evidence)).toHaveLength(evidence.files);
  });

  it('keeps what other kubelets answer when one hangs, and does not ask that one again', async () => {
    const { text } = source;
    const twice = { name: 'b', image: '', imageID: '', ready: true, restartCount: 0, state: { running: {} } };
    source.present[0] = podOf(0, { containerStatuses: [...(podOf(0).status?.containerStatuses ?? []), twice] });
    source.text = (pod, ...rest) => (pod === 'llm-0' ? never() : text(pod, ...rest));
    const evidence = await capture({ deadlineMs: 6000 });
    expect((await indexOf(evidence)).filter(({ what }) => what === 'log')).toHaveLength(3);
    expect(evidence.because).toMatch(/^logs of 1 pod: no answer/);
  });

  it('asks hardly any other kubelet when none answers at all', async () => {
    source = new FakeEvidenceSource(200);
    source.text = never;
    expect(await capture({ deadlineMs: 8000 })).toMatchObject({
      ranks: 200,
      because: expect.stringMatching(/logs of \d+ pods: no answer/),
    });
    expect(source.asked.length).toBeLessThan(32);
  });
});

describe('bounds', () => {
  it('keep the end of a long log, in whole lines', async () => {
    source.text = () =>
      Promise.resolve(Array.from({ length: 5000 }, (_, n) => `line ${n} ${'x'.repeat(1000)}`).join('\n'));
    const evidence = await capture();
    const kept = await read(evidence, 'pod_llm-0_pytorch.log');
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(evidenceLimits.logBytes);
    expect(kept).toMatch(/^line \d+ x/);
    expect(kept).toContain('line 4999 ');
    expect((await indexOf(evidence)).find(({ what }) => what === 'log')).toMatchObject({ cut: true });
  });

  it('ask for fewer lines where the byte limit would have cut off the end', async () => {
    source = new FakeEvidenceSource(1);
    source.text = (_, __, { lines, bytes }) => Promise.resolve(lines > 50 ? 'x'.repeat(bytes) : 'the end\n');
    const evidence = await capture();
    expect(await read(evidence, 'pod_llm-0_pytorch.log')).toBe('the end\n');
    expect((await indexOf(evidence)).find(({ what }) => what === 'log')).toMatchObject({ cut: true });
  });

  it('leave less for each the fuller the store is, and never exceed the limit', async () => {
    const draft = await storeOf().open(source.request().incident, 1);
    const into = new EvidenceCollector(draft, [], 100_000);
    for (let rank = 0; rank < 200; rank++)
      await into.log({ file: `${rank}.log`, what: 'log', pod: `${rank}` }, 'a line of it\n'.repeat(1000), false);
    const sizes = into.files.map(({ bytes }) => bytes);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(into.bytes).toBeLessThanOrEqual(100_000);
    expect(into.bytes).toBeGreaterThan(80_000);
    expect(await into.end()).toMatch(/^logs of \d+ pods: no space was left$/);
  });
});

describe('files', () => {
  it('have names that pods cannot make ambiguous, and that stay in the directory', async () => {
    const names = ['job', 'index', 'x', 'x_events', '../../etc/passwd', 'n'.repeat(253)];
    source.present = names.map((name, rank) => ({ ...podOf(rank), metadata: { name, uid: `uid-${rank}` } }));
    const event = { at: '', type: 'Normal', reason: 'R', message: '', count: 1, from: '' };
    source.events = () =>
      Promise.resolve({ of: new Map(names.map((_, rank) => [`uid-${rank}`, [event]])), more: false });
    const evidence = await capture();
    const index = await indexOf(evidence);
    expect(evidence).not.toHaveProperty('because');
    expect(index.filter(({ pod }) => pod !== undefined)).toHaveLength(3 * names.length);
    expect(new Set(index.map(({ file }) => file)).size).toBe(index.length);
    expect((await readdir(evidence.address)).toSorted()).toEqual(
      ['index.json', ...index.map(({ file }) => file)].toSorted(),
    );
  });
});

describe('the same attempt again', () => {
  it('replaces what was kept before, and has the same digest when it is the same', async () => {
    const first = await capture();
    const again = await capture();
    expect(again).toEqual(first);
    source.present = source.present.slice(0, 1);
    const less = await capture();
    expect(less.address).toBe(first.address);
    expect(less.digest).not.toBe(first.digest);
    expect(await readdir(less.address)).not.toContain('pod_llm-1.json');
    expect(await readdir(join(less.address, '..'))).toEqual(['attempt-1']);
  });

  it('leaves nothing behind when it is cancelled', async () => {
    const cancelled = AbortSignal.abort(new Error('cancelled'));
    await expect(capture({}, cancelled)).rejects.toThrow('cancelled');
    expect(await readdir(join(directory, 'recovery_train_llm_0b1c_2026-11-21T070903.117Z'))).toEqual([]);
  });

  it('says so when nothing can be written at all', async () => {
    const store = directoryEvidence({
      directory: join(directory, 'file'),
      keepMs: 1,
      most: 2 ** 30,
      share: 100,
      now: Date.now,
    });
    await writeFile(join(directory, 'file'), '');
    const failing = capturing({ source, store, patterns: [], cancelled: uncancelled }, source.request());
    await expect(failing).rejects.toMatchObject({ code: 'records.unwritable' });
  });
});

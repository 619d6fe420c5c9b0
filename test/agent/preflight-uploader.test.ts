import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { FilesAnswer } from '../../agent/upload/connection.ts';
import { type PreflightUploader, startPreflightUploader } from '../../agent/preflight/uploader.ts';
import { type ReportFiles, reportFiles } from '../../agent/preflight/files.ts';
import type { PreflightFile, PreflightFileAnswer, PreflightFiles } from '../../contract/preflight/files.ts';
import { type PreflightNode, preflightNode, rawReport } from './preflight-node.ts';
import { until } from './until.ts';

const accepted: PreflightFileAnswer = { answer: 'accepted' };
const each =
  (answer: (file: PreflightFile) => PreflightFileAnswer) =>
  ({ files }: PreflightFiles): FilesAnswer => ({ kind: 'answered', files: files.map(answer) });
const unreachable: FilesAnswer = { kind: 'unavailable', reason: 'unreachable', because: 'connection refused' };

let node: PreflightNode;
let stateDirectory = '';
let uploader: PreflightUploader | undefined;
let answering: (files: PreflightFiles) => FilesAnswer;
let requests: PreflightFiles[] = [];
let looks = 0;
let logged: { level: number; msg: string }[] = [];

beforeEach(async () => {
  node = await preflightNode();
  stateDirectory = join(node.hostRoot, 'state');
  answering = each(() => accepted);
  requests = [];
  looks = 0;
  logged = [];
});
afterEach(async () => {
  await uploader?.stop();
  await node.remove();
});

function start(more: Partial<ReportFiles> = {}): void {
  const real = reportFiles(node.hostRoot);
  const list = (): ReturnType<ReportFiles['list']> => {
    looks += 1;
    return (more.list ?? real.list)();
  };
  uploader = startPreflightUploader({
    files: { ...real, ...more, list },
    connection: {
      postPreflight: async (files) => {
        requests.push(files);
        return answering(files);
      },
    },
    node: 'gpu-3',
    stateDirectory,
    everyMs: 10,
    log: pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    chance: () => 0,
  });
}
async function restart(): Promise<void> {
  await uploader?.stop();
  start();
}
const sent = () => requests.flatMap(({ files }) => files.map(({ workload, rank }) => `${workload}-${rank}`)).toSorted();
/** Waits until all present files were polled several times. */
async function looked(): Promise<void> {
  const before = looks;
  await until(() => looks >= before + 4);
}
const untilAnswered = (count: number) => until(() => uploader?.status().waiting === 0 && requests.length >= count);

describe('the uploader of preflight reports', () => {
  it('sends no requests while there is no report', async () => {
    start();
    await looked();
    expect(requests).toEqual([]);
    expect(uploader?.status()).toEqual({ waiting: 0, accepted: 0, refused: new Map(), ignored: 0, failures: 0 });
  });

  it('sends each report once, whether its test passed or failed', async () => {
    await node.report('train/llm-0.json');
    await node.report('train/llm-1.json', rawReport({ rank: 1, gpu_check: 2 }));
    start();
    await untilAnswered(1);
    await looked();
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ schema: 1, node: 'gpu-3', sentAt: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(sent()).toEqual(['llm-0', 'llm-1']);
    expect(requests[0]?.files.find(({ rank }) => rank === 1)).toMatchObject({
      namespace: 'train',
      workload: 'llm',
      writtenAt: '2026-11-21T07:00:00.250Z',
      report: { rank: 1, size: 4, node: 'gpu-3', failed: ['gpu'] },
    });
    expect(uploader?.status()).toMatchObject({ waiting: 0, accepted: 2 });
  });

  it('sends a report again when it was rewritten', async () => {
    await node.report('train/llm-0.json');
    start();
    await untilAnswered(1);
    await node.report('train/llm-0.json', rawReport({ workload_size: 8 }), '2026-11-21T08:00:00Z');
    await until(() => requests.length === 2);
    expect(requests[1]?.files).toMatchObject([{ writtenAt: '2026-11-21T08:00:00.000Z', report: { size: 8 } }]);
  });

  it('stores across a restart what was accepted or refused, and nothing else', async () => {
    const answers: Readonly<Record<number, PreflightFileAnswer>> = {
      0: accepted,
      1: { answer: 'refused', because: 'stale' },
      2: { answer: 'wait' },
    };
    answering = each(({ rank }) => answers[rank] ?? accepted);
    for (const rank of [0, 1, 2]) await node.report(`train/llm-${rank}.json`, rawReport({ rank }));
    start();
    await until(() => uploader?.status().accepted === 1);
    await restart();
    requests = [];
    await until(() => requests.length > 0);
    await looked();
    expect(new Set(sent())).toEqual(new Set(['llm-2']));
  });

  it.each([
    ['lost', () => rm(stateDirectory, { recursive: true })],
    ['unreadable', () => writeFile(join(stateDirectory, 'preflight.json'), '{"train/llm-')],
    ['of another shape', () => writeFile(join(stateDirectory, 'preflight.json'), '{"train/llm-0.json": 3}')],
  ])('sends everything again after a restart when its memory is %s', async (_, spoil) => {
    await node.report('train/llm-0.json');
    start();
    await untilAnswered(1);
    await uploader?.stop();
    await spoil();
    start();
    await untilAnswered(2);
    expect(sent()).toEqual(['llm-0', 'llm-0']);
  });

  it('continues when its state cannot be written, and logs that', async () => {
    await writeFile(stateDirectory, 'a file');
    await node.report('train/llm-0.json');
    start();
    await untilAnswered(1);
    await looked();
    expect(requests).toHaveLength(1);
    expect(logged.filter(({ msg }) => msg.includes('cannot store which'))).toHaveLength(1);
  });

  it('forgets files that are gone', async () => {
    await node.report('train/llm-0.json');
    await node.report('train/llm-1.json');
    start();
    await untilAnswered(1);
    await rm(node.path('train/llm-0.json'));
    await looked();
    await node.report('train/llm-2.json');
    await untilAnswered(2);
    await uploader?.stop();
    expect(Object.keys(JSON.parse(await readFile(join(stateDirectory, 'preflight.json'), 'utf8'))).toSorted()).toEqual([
      'train/llm-1.json',
      'train/llm-2.json',
    ]);
  });

  it('sends files with the answer wait again, until they are accepted', async () => {
    let asked = 0;
    answering = each(() => (++asked < 3 ? { answer: 'wait', because: 'its pod still tests' } : accepted));
    await node.report('train/llm-0.json');
    start();
    await until(() => requests.length > 0);
    expect(uploader?.status()).toMatchObject({ waiting: 1, accepted: 0 });
    await untilAnswered(3);
    await looked();
    expect(requests).toHaveLength(3);
    // The answer `wait` is not a failure.
    expect(uploader?.status()).toMatchObject({ accepted: 1, failures: 0 });
  });

  it('counts refused files by a bounded number of reasons, and does not send them again', async () => {
    const answers = ['stale', 'other-node: it says gpu-9', 'because it is Saturday', 'not json'];
    answering = each(({ rank }) => ({ answer: 'refused', because: answers[rank] ?? '' }));
    for (const rank of [0, 1, 2]) await node.report(`train/llm-${rank}.json`, rawReport({ rank }));
    await node.report('train/llm-3.json', 'no json');
    start();
    await untilAnswered(1);
    await looked();
    expect(requests).toHaveLength(1);
    expect(uploader?.status().refused).toEqual(
      new Map([
        ['stale', 1],
        ['other-node', 1],
        ['other', 1],
        ['parse', 1],
      ]),
    );
  });

  it('loses nothing while the controller cannot be reached, and logs that once', async () => {
    answering = () => unreachable;
    await node.report('train/llm-0.json');
    start();
    await until(() => requests.length >= 3);
    await node.report('train/llm-1.json');
    expect(uploader?.status().failures).toBeGreaterThan(1);
    expect(logged.filter(({ msg }) => msg.includes('do not reach'))).toHaveLength(1);
    answering = each(() => accepted);
    await until(() => uploader?.status().accepted === 2 && uploader.status().failures === 0);
    expect(uploader?.status().waiting).toBe(0);
    expect(logged.filter(({ msg }) => msg.includes('reach the controller again'))).toHaveLength(1);
  });

  it('sends a thousand reports in requests of fifty', async () => {
    const fifths = Array.from({ length: 1000 }, (_, rank) =>
      node.report(`train-${rank % 5}/llm-${rank}.json`, rawReport({ workload_size: 1000, rank })),
    );
    await Promise.all(fifths);
    start();
    await until(() => uploader?.status().accepted === 1000, 150_000);
    await looked();
    expect(requests.map(({ files }) => files.length)).toEqual(Array.from({ length: 20 }, () => 50));
    expect(new Set(sent()).size).toBe(1000);
  }, 180_000);

  it('is not held up by a report for which the controller rejects whole requests', async () => {
    answering = ({ files }) =>
      files.some(({ rank }) => rank === 5)
        ? { kind: 'rejected', reason: 'malformed', because: '400' }
        : { kind: 'answered', files: files.map(() => accepted) };
    for (let rank = 0; rank < 8; rank++)
      await node.report(`train/llm-${rank}.json`, rawReport({ workload_size: 8, rank }));
    start();
    await until(() => uploader?.status().accepted === 7);
    await looked();
    expect(uploader?.status()).toMatchObject({ waiting: 1, refused: new Map([['malformed', 1]]) });
    answering = each(() => accepted);
    await until(() => uploader?.status().accepted === 8);
  });

  it('does not read a file that is just being written', async () => {
    const read: number[] = [];
    const real = reportFiles(node.hostRoot);
    await node.report('train/llm-0.json');
    start({
      async list() {
        const { files, ignored } = await real.list();
        return { ignored, files: looks < 6 ? files.map((file) => ({ ...file, writtenMs: Date.now() })) : files };
      },
      read(file) {
        read.push(looks);
        return real.read(file);
      },
    });
    await untilAnswered(1);
    expect(read).toEqual([6]);
  });

  it('reads a file at its next look when it was written while being read', async () => {
    let reads = 0;
    const real = reportFiles(node.hostRoot);
    await node.report('train/llm-0.json');
    start({ read: async (file) => (++reads < 3 ? 'changed' : real.read(file)) });
    await untilAnswered(1);
    expect([reads, sent()]).toEqual([3, ['llm-0']]);
  });

  it('tries again what cannot be read, without holding up the others', async () => {
    let broken = true;
    const real = reportFiles(node.hostRoot);
    await node.report('train/llm-0.json');
    await node.report('train/llm-1.json', rawReport({ rank: 1 }));
    start({
      read(file) {
        if (broken && file.rank === 0) throw new Error('EIO');
        return real.read(file);
      },
    });
    await until(() => uploader?.status().accepted === 1);
    expect(sent()).toEqual(['llm-1']);
    broken = false;
    await until(() => uploader?.status().accepted === 2);
  });

  it('says that the directory cannot be read, and forgets nothing', async () => {
    let broken = false;
    const real = reportFiles(node.hostRoot);
    await node.report('train/llm-0.json');
    start({ list: async () => (broken ? Promise.reject(new Error('EIO')) : real.list()) });
    await untilAnswered(1);
    broken = true;
    await until(() => uploader?.status().unavailable === 'EIO');
    broken = false;
    await until(() => uploader?.status().unavailable === undefined);
    await looked();
    expect(requests).toHaveLength(1);
  });
});

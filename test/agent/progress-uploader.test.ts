import { symlink, utimes, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { CountedAnswer } from '../../agent/upload/connection.ts';
import { type ProgressUploader, startProgressUploader } from '../../agent/progress/uploader.ts';
import { trainerFiles } from '../../agent/progress/files.ts';
import { progressDirectory, type ProgressFiles } from '../../contract/progress/progress.ts';
import { type PreflightNode, preflightNode } from './preflight-node.ts';
import { until } from './until.ts';

let node: PreflightNode;
let uploader: ProgressUploader;
let answering: (files: ProgressFiles) => CountedAnswer;
let connections: number;
let requests: ProgressFiles[] = [];
let looks = 0;
let logged: { level: number; msg: string; because?: string }[] = [];

const all = ({ files }: ProgressFiles): CountedAnswer => ({ kind: 'accepted', counted: files.map(() => true) });
const none = ({ files }: ProgressFiles): CountedAnswer => ({ kind: 'accepted', counted: files.map(() => false) });

beforeEach(async () => {
  node = await preflightNode(progressDirectory);
  [answering, connections, requests, looks, logged] = [all, 1, [], 0, []];
});
afterEach(async () => {
  await uploader.stop();
  await node.remove();
});

function start(): void {
  const files = trainerFiles(node.hostRoot);
  uploader = startProgressUploader({
    files: {
      ...files,
      list() {
        looks += 1;
        return files.list();
      },
    },
    connection: {
      async postProgress(sent) {
        requests.push(sent);
        return answering(sent);
      },
      opened: () => connections,
    },
    node: 'gpu-3',
    everyMs: 10,
    log: pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    chance: () => 0,
  });
}
const progress = (step: number): string => JSON.stringify({ step, at: '2026-11-21T07:00:00Z' });
const write = (name: string, step: number, at?: string) => node.report(`train/${name}.json`, progress(step), at);
const sent = () =>
  requests.map(({ files }) => files.map(({ job, rank, progress: { step } }) => `${job}-${rank} ${step}`).toSorted());
/** Waits until all present files were polled several times. */
async function looked(): Promise<void> {
  const before = looks;
  await until(() => looks >= before + 4);
}

describe('the uploader of progress files', () => {
  it('sends no requests while there are no progress files', async () => {
    start();
    await looked();
    expect(requests).toEqual([]);
    expect(uploader.status()).toEqual({ sent: 0, unusable: 0, ignored: 0, failures: 0 });
  });

  it('sends what a trainer wrote, with the time of the file, and again only when it was rewritten', async () => {
    await write('llm-0', 1, '2026-11-21T07:00:00.250Z');
    await write('llm-12', 1);
    start();
    await looked();
    expect(sent()).toEqual([['llm-0 1', 'llm-12 1']]);
    expect(requests[0]).toMatchObject({
      schema: 1,
      node: 'gpu-3',
      files: expect.arrayContaining([expect.objectContaining({ writtenAt: '2026-11-21T07:00:00.250Z' })]),
    });
    await write('llm-0', 2, '2026-11-21T07:00:05Z');
    await looked();
    expect(sent().slice(1)).toEqual([['llm-0 2']]);
  });

  it('sends everything again to what may be another controller', async () => {
    await write('llm-0', 1);
    start();
    await looked();
    connections += 1;
    await looked();
    expect(sent()).toEqual([['llm-0 1'], ['llm-0 1']]);
  });

  it('sends the newest, and no more, when the controller comes back', async () => {
    answering = () => ({ kind: 'unavailable', reason: 'not-leading', because: 'this controller does not lead' });
    await write('llm-0', 1);
    start();
    await until(() => requests.length > 0);
    await write('llm-0', 2, '2026-11-21T07:00:05Z');
    await until(() => sent().some(([first]) => first === 'llm-0 2'));
    requests = [];
    answering = all;
    await until(() => uploader.status().sent > 0);
    await looked();
    expect(sent()).toEqual([['llm-0 2']]);
    expect(uploader.status().failures).toBe(0);
  });

  it('sends a new file again while it is ignored, for its container may just have begun, but no old one', async () => {
    answering = none;
    await write('old-0', 1);
    await write('new-0', 1, new Date().toISOString());
    start();
    await until(() => requests.length > 3);
    expect(sent().slice(0, 2)).toEqual([['new-0 1', 'old-0 1'], ['new-0 1']]);
    answering = all;
    await looked();
    const before = requests.length;
    await looked();
    expect(requests).toHaveLength(before);
  });

  it('sends no file again because another one in its request was ignored', async () => {
    answering = ({ files }) => ({ kind: 'accepted', counted: files.map(({ job }) => job !== 'ignored') });
    await write('ignored-0', 1, new Date().toISOString());
    await write('llm-0', 1, new Date().toISOString());
    start();
    await until(() => requests.length > 3);
    expect(
      sent()
        .flat()
        .filter((one) => one.startsWith('llm')),
    ).toEqual(['llm-0 1']);
  });

  it('leaves a half-written file for the next look, and says once of a file that it cannot be used', async () => {
    await node.report('train/half-0.json', '{"step": 1', new Date(Date.now() + 3600_000).toISOString());
    await node.report('train/bad-0.json', '{"step": "many"}');
    await node.report('train/long-0.json', ' '.repeat(5000));
    start();
    await looked();
    expect(requests).toEqual([]);
    expect(new Set(logged.map(({ because }) => because))).toEqual(
      new Set(['it has more than 4096 bytes', 'step is not an integer from 0']),
    );
    expect(logged).toHaveLength(2);
    await write('half-0', 1);
    await until(() => requests.length > 0);
    connections += 1;
    await looked();
    expect(uploader.status()).toMatchObject({ unusable: 2 });
    await node.report('train/bad-0.json', '[]', '2026-11-21T08:00:00Z');
    await until(() => uploader.status().unusable === 3);
  });

  it('says of a file that stays half-written that it cannot be used', async () => {
    await node.report('train/half-0.json', '{"step": 1');
    start();
    await until(() => uploader.status().unusable === 1);
  });

  it('follows no link and takes no other file for one', async () => {
    await write('llm-0', 1);
    await symlink('llm-0.json', node.path('train/llm-1.json'));
    await writeFile(node.path('train/notes.txt'), '');
    start();
    await looked();
    expect(sent()).toEqual([['llm-0 1']]);
    expect(uploader.status().ignored).toBe(2);
  });

  it('sends the others when the controller cannot read one of them', async () => {
    answering = (files) =>
      files.files.some(({ job }) => job === 'bad')
        ? { kind: 'rejected', reason: 'malformed', because: 'no' }
        : all(files);
    for (const name of ['a-0', 'bad-0', 'c-0']) await write(name, 1);
    start();
    await until(() => uploader.status().sent === 2 && uploader.status().unusable === 1);
    await looked();
    expect(uploader.status()).toMatchObject({ sent: 2, unusable: 1 });
  });

  it('sends at most 100 files at a time', async () => {
    for (let rank = 0; rank < 101; rank++) await write(`llm-${rank}`, rank);
    await utimes(node.path('train/llm-0.json'), new Date(), new Date());
    start();
    await until(() => uploader.status().sent >= 101);
    expect(requests.slice(0, 2).map(({ files }) => files.length)).toEqual([100, 1]);
  });
});

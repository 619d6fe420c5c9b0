import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { type PreflightUploader, startPreflightUploader } from '../../agent/preflight/uploader.ts';
import { type ReportFiles, reportFiles } from '../../agent/preflight/files.ts';
import type { PreflightFile, PreflightFileAnswer } from '../../contract/preflight/files.ts';
import { type PreflightNode, preflightNode, rawReport } from './preflight-node.ts';
import { until } from './until.ts';

let node: PreflightNode;
let stateDirectory = '';
let uploaders: PreflightUploader[] = [];
let reachable = true;
let sent: PreflightFile[] = [];
let read: string[] = [];

beforeEach(async () => {
  node = await preflightNode();
  stateDirectory = join(node.hostRoot, 'state');
  reachable = true;
  for (const rank of [0, 1, 2]) await node.report(`train/llm-${rank}.json`, rawReport({ rank }));
});
afterEach(async () => {
  await Promise.all(uploaders.map((uploader) => uploader.stop()));
  uploaders = [];
  await node.remove();
});

const answer = (file: PreflightFile): PreflightFileAnswer =>
  'problem' in file ? { answer: 'refused', because: file.problem.field } : { answer: 'accepted' };

function start(more: Partial<ReportFiles> = {}): PreflightUploader {
  sent = [];
  read = [];
  const real = reportFiles(node.hostRoot);
  const uploader = startPreflightUploader({
    files: {
      ...real,
      read(file) {
        read.push(file.key);
        return (more.read ?? real.read)(file);
      },
    },
    connection: {
      async postPreflight({ files }) {
        sent.push(...files);
        return reachable
          ? { kind: 'answered', files: files.map(answer) }
          : { kind: 'unavailable', reason: 'unreachable', because: 'refused' };
      },
    },
    node: 'gpu-3',
    stateDirectory,
    everyMs: 10,
    log: pino({ level: 'silent' }),
    chance: () => 0,
  });
  uploaders.push(uploader);
  return uploader;
}

/** Simulates an agent that ends while it reads this file: the next start has only what is on disk at that moment. */
async function endWhileReading(key: string): Promise<void> {
  const real = reportFiles(node.hostRoot);
  start({ read: (file) => (file.key === key ? new Promise(() => undefined) : real.read(file)) });
  await until(() => read.includes(key));
  const copy = `${stateDirectory}-at-its-end`;
  await cp(stateDirectory, copy, { recursive: true });
  stateDirectory = copy;
}

const bad = 'train/llm-1.json';
const notRead = {
  rank: 1,
  problem: {
    field: 'parse',
    because: expect.stringContaining('the agent of the node ended twice while it read this file'),
  },
};

/** Simulates a file that makes the agent end each time. */
async function endTwiceWhileReading(key: string): Promise<void> {
  await endWhileReading(key);
  await endWhileReading(key);
}

describe('a report file in whose reading the agent ended', () => {
  it('is read again after one end, which may have had another reason', async () => {
    await endWhileReading(bad);
    const uploader = start();
    await until(() => uploader.status().accepted === 3);
    expect(uploader.status().refused).toEqual(new Map());
  });

  it('is not passed over for an end long ago, when it was read to its end since', async () => {
    await endWhileReading(bad);
    reachable = false;
    const failing = start();
    await until(() => failing.status().failures > 1);
    await failing.stop();
    await endWhileReading(bad);
    reachable = true;
    const uploader = start();
    await until(() => uploader.status().accepted === 3);
  });

  it('is passed over after the second end with a reason, and all others are read', async () => {
    await endTwiceWhileReading(bad);
    const uploader = start();
    await until(() => uploader.status().accepted === 2 && uploader.status().waiting === 0);
    expect(read.toSorted()).toEqual(['train/llm-0.json', 'train/llm-2.json']);
    expect(sent.filter(({ rank }) => rank === 1)).toMatchObject([notRead]);
    expect(uploader.status().refused).toEqual(new Map([['parse', 1]]));
  });

  it('is passed over at every start until it has its answer, whatever else is read meanwhile', async () => {
    await endTwiceWhileReading(bad);
    reachable = false;
    const failing = start();
    await until(() => failing.status().failures > 1);
    await failing.stop();
    reachable = true;
    const uploader = start();
    await until(() => uploader.status().accepted === 2 && uploader.status().waiting === 0);
    expect(read).not.toContain(bad);
    expect(sent.filter(({ rank }) => rank === 1)).toMatchObject([notRead]);
  });

  it('is read when it was rewritten', async () => {
    await endTwiceWhileReading(bad);
    const uploader = start();
    await until(() => uploader.status().accepted === 2);
    await node.report(bad, rawReport({ rank: 1 }), '2026-11-21T08:00:00Z');
    await until(() => uploader.status().accepted === 3);
  });

  it('is not one whose reading had not begun when the agent was stopped', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const real = reportFiles(node.hostRoot);
    const uploader = start({ read: (file) => held.then(() => real.read(file)) });
    await until(() => read.length === 1);
    const stopped = uploader.stop();
    release();
    await stopped;
    expect(read).toHaveLength(1);
  });

  it('is no file whose reading came to its end, with or without success', async () => {
    const real = reportFiles(node.hostRoot);
    reachable = false;
    const first = start({ read: (file) => (file.key === bad ? Promise.reject(new Error('EIO')) : real.read(file)) });
    await until(() => first.status().failures > 1 && read.includes(bad));
    await first.stop();
    reachable = true;
    const uploader = start();
    await until(() => uploader.status().accepted === 3);
    expect(uploader.status().refused).toEqual(new Map());
  });
});

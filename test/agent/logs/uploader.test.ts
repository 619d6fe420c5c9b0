import { appendFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { type LogUploader, startLogUploader } from '../../../agent/logs/uploader.ts';
import type { CountedAnswer } from '../../../agent/upload/connection.ts';
import type { LogReports, WantedLog } from '../../../contract/progress/logs.ts';
import { until } from '../until.ts';

const wanted = (pod: string, more: Partial<WantedLog> = {}): WantedLog => ({
  namespace: 'train',
  pod,
  uid: `uid-${pod}`,
  container: 'pytorch',
  format: 'auto',
  ...more,
});
const iteration = (step: number): string =>
  ` [2026-08-22 10:00:00.123456] iteration ${step}/  500000 | consumed samples: 25600 | elapsed time per iteration (ms): 4321.0 | lm loss: 2.1E+00 |`;
const cri = (text: string, at = '2026-11-22T22:00:00.123456789Z', tag = 'F'): string => `${at} stdout ${tag} ${text}\n`;

let root: string;
let uploader: LogUploader;
let connections: number;
let requests: LogReports[];
let answering: (sent: LogReports) => CountedAnswer;
let logged: string[];

const all = ({ logs }: LogReports): CountedAnswer => ({ kind: 'accepted', counted: logs.map(() => true) });

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'kcover-logs-'));
  [connections, requests, answering, logged] = [1, [], all, []];
  uploader = startLogUploader({
    hostRoot: root,
    connection: {
      async postLogs(sent) {
        requests.push(sent);
        return answering(sent);
      },
      opened: () => connections,
    },
    node: 'gpu-3',
    everyMs: 10,
    log: pino({}, { write: (line: string) => void logged.push(line) }),
    chance: () => 0,
  });
});
afterEach(async () => {
  await uploader.stop();
  await rm(root, { recursive: true, force: true });
});

async function write(pod: string, text: string, file = '0.log'): Promise<void> {
  const directory = join(root, 'var/log/pods', `train_${pod}_uid-${pod}`, 'pytorch');
  await mkdir(directory, { recursive: true });
  await appendFile(join(directory, file), text);
}
const steps = () => requests.flatMap(({ logs }) => logs.map(({ pod, step }) => `${pod} ${step}`));

describe('the logs that the controller asks for', () => {
  it('are read, and no others', async () => {
    await write('llm-0', cri(iteration(100)));
    await write('other', cri(iteration(7)));
    uploader.follow([wanted('llm-0')]);
    await until(() => steps().length > 0);
    expect(requests[0]).toEqual({
      schema: 1,
      node: 'gpu-3',
      read: ['uid-llm-0'],
      logs: [{ pod: 'uid-llm-0', at: '2026-11-22T22:00:00.123Z', step: 100, stepAt: '2026-11-22T22:00:00.123Z' }],
    });
    uploader.follow([]);
    await until(() => requests.at(-1)?.read.length === 0);
    await write('llm-0', cri(iteration(101)));
    uploader.follow([wanted('other')]);
    await until(() => steps().includes('uid-other 7'));
    expect(steps()).toEqual(['uid-llm-0 100', 'uid-other 7']);
  });

  it('are sent when they say something new, and again to what may be another controller', async () => {
    await write('llm-0', cri(iteration(100)));
    uploader.follow([wanted('llm-0')]);
    await until(() => steps().length === 1);
    await write('llm-0', cri('a line that says nothing'));
    await until(() => uploader.status().lines === 2);
    expect(steps()).toHaveLength(1);
    connections += 1;
    await until(() => steps().length === 2);
    await write('llm-0', cri(iteration(101)));
    await until(() => steps().length === 3);
    expect(steps()).toEqual(['uid-llm-0 100', 'uid-llm-0 100', 'uid-llm-0 101']);
  });

  it('are joined from the parts into which the runtime cuts long lines', async () => {
    const line = iteration(100);
    await write('llm-0', cri(line.slice(0, 60), undefined, 'P') + cri(line.slice(60)));
    uploader.follow([wanted('llm-0')]);
    await until(() => steps().length > 0);
    expect(steps()).toEqual(['uid-llm-0 100']);
  });

  it('begin anew with the next container', async () => {
    await write('llm-0', cri(iteration(100)));
    uploader.follow([wanted('llm-0')]);
    await until(() => steps().length === 1);
    await write('llm-0', cri('successfully saved checkpoint from iteration      50 to /ckpt', undefined), '1.log');
    await until(() => requests.at(-1)?.logs[0]?.checkpointStep === 50);
    expect(requests.at(-1)?.logs[0]).not.toHaveProperty('step');
  });

  it('are found by a pattern of the job, where it has one', async () => {
    await write('llm-0', cri('made step 41 of many'));
    uploader.follow([wanted('llm-0', { patterns: { step: 'made step (?<step>[0-9]+)' } })]);
    await until(() => steps().length > 0);
    expect(steps()).toEqual(['uid-llm-0 41']);
  });

  it('that cannot be read are not said to be read, and the others are', async () => {
    await write('llm-0', cri(iteration(100)));
    uploader.follow([wanted('gone'), wanted('llm-0')]);
    await until(() => steps().length > 0);
    expect(requests.map(({ read }) => read)).toEqual([['uid-llm-0']]);
    expect(uploader.status().unavailable).toMatch(/^train\/gone: /);
    expect(logged.filter((line) => line.includes('cannot be read'))).toHaveLength(1);
    await write('gone', cri(iteration(1)));
    await until(() => requests.at(-1)?.read.length === 2);
    expect(uploader.status().unavailable).toBeUndefined();
  });

  it('are sent to the end although the controller rejects one of them', async () => {
    answering = (sent) =>
      sent.logs.some(({ pod }) => pod === 'uid-bad')
        ? { kind: 'rejected', reason: 'malformed', because: 'the controller answered 400' }
        : all(sent);
    await write('bad', cri(iteration(1)));
    await write('llm-0', cri(iteration(100)));
    uploader.follow([wanted('bad'), wanted('llm-0')]);
    await until(() => requests.some(({ logs }) => logs.length === 1 && logs[0]?.pod === 'uid-llm-0'));
    const sent = requests.length;
    await write('llm-0', cri(iteration(101)));
    await until(() => steps().includes('uid-llm-0 101'));
    expect(requests.length - sent).toBe(1);
  });

  it('are skipped where reading them would keep the agent from its work, and read on behind that', async () => {
    await write('flood', '');
    const costly = { step: '[ab ]{0,40}(?<step>[0-9]+)!' };
    uploader.follow([wanted('flood', { patterns: costly })]);
    await until(() => requests.length > 0);
    await write('flood', cri(`${'a b '.repeat(120)}?!`).repeat(16_000));
    await until(() => uploader.status().skipped > 1024 * 1024);
    await write('flood', cri('12!'));
    await until(() => steps().includes('uid-flood 12'));
  });

  it('are at most so many as one node may have', async () => {
    uploader.follow(Array.from({ length: 100 }, (_, at) => wanted(`pod-${at}`)));
    await until(() => uploader.status().followed > 0);
    expect(uploader.status().followed).toBe(32);
  });
});

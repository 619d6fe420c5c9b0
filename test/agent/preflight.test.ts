import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { connectController } from '../../agent/upload/connection.ts';
import { type RunningAgent, startAgent } from '../../agent/index.ts';
import { startPreflightUploader } from '../../agent/preflight/uploader.ts';
import { startReporter } from '../../agent/upload/reporter.ts';
import { openSpool } from '../../agent/spool.ts';
import { agentSettings } from '../../contract/settings/settings.schema.ts';
import { type HttpsController, startHttpsController } from './https-controller.ts';
import { type PreflightNode, preflightNode, rawReport } from './preflight-node.ts';
import { until } from './until.ts';

const log = pino({ level: 'silent' });
let controller: HttpsController;
let node: PreflightNode;

beforeEach(async () => {
  controller = await startHttpsController();
  node = await preflightNode();
});
afterEach(async () => {
  await controller.close();
  await node.remove();
});

function settings() {
  const { url, caFile, tokenFile } = controller;
  return agentSettings.parse({
    controller: { url, caFile, tokenFile },
    preflight: { every: '20ms' },
    spool: { directory: join(node.hostRoot, 'spool') },
  });
}

describe('preflight reports in an agent', () => {
  let agent: RunningAgent | undefined;
  afterEach(() => agent?.stop());

  it('go to the controller with its token', async () => {
    agent = await startAgent({ settings: settings(), node: 'gpu-3', hostRoot: node.hostRoot, version: '0.1.0', log });
    await node.report('train/llm-2.json', rawReport({ rank: 2 }));
    await until(() => agent?.status().preflight.accepted === 1);
    expect(controller.preflight).toMatchObject([
      {
        authorization: 'Bearer token-1',
        files: {
          schema: 1,
          node: 'gpu-3',
          files: [{ namespace: 'train', workload: 'llm', rank: 2, report: { rank: 2 } }],
        },
      },
    ]);
  });

  it('wait when what answers is no controller', async () => {
    controller.answerFiles(() => []);
    agent = await startAgent({ settings: settings(), node: 'gpu-3', hostRoot: node.hostRoot, version: '0.1.0', log });
    await node.report('train/llm-0.json');
    await until(() => (agent?.status().preflight.failures ?? 0) > 1);
    expect(agent.status().preflight).toMatchObject({ waiting: 1, accepted: 0 });
    controller.answerFiles(({ files }) => files.map(() => ({ answer: 'accepted' })));
    await until(() => agent?.status().preflight.accepted === 1);
  });
});

describe('the connection to the controller', () => {
  const batch = { schema: 1, node: 'gpu-3', bootId: 'boot', stream: 's', reports: [], gaps: [] } as const;
  const files = { schema: 1, node: 'gpu-3', sentAt: '2026-11-21T07:00:00.000Z', files: [] } as const;

  it('is the same for preflight reports as for all others', async () => {
    const connection = connectController(settings().controller, '0.1.0');
    const { signal } = new AbortController();
    expect(await connection.post(batch, signal)).toMatchObject({ kind: 'accepted' });
    expect(await connection.postPreflight(files, signal)).toEqual({ kind: 'answered', files: [] });
    expect(controller.connections()).toBe(1);
    await connection.close();
  });

  it('does not make one kind wait for the other', async () => {
    const connection = connectController(settings().controller, '0.1.0');
    const giveUp = new AbortController();
    controller.answer(() => 'silent');
    const held = connection.post(batch, giveUp.signal);
    await until(() => controller.requests.length === 1);
    expect(await connection.postPreflight(files, new AbortController().signal)).toEqual({
      kind: 'answered',
      files: [],
    });
    giveUp.abort();
    expect(await held).toMatchObject({ kind: 'unavailable' });
    await connection.close();
  });
});

describe('a directory of preflight reports that hangs', () => {
  it('holds up neither other reports nor the end, and is said to hang', async () => {
    const pipe = join(node.hostRoot, 'pipe');
    execFileSync('mkfifo', [pipe]);
    // A real call that does not return: it blocks one of the few threads of the pool, as a hanging disk does.
    const hang = async () => {
      const reader = await open(pipe, 'r');
      await reader.close();
      return { files: [], ignored: 0 };
    };
    const { controller: controllerSettings, spool: spoolSettings } = settings();
    const connection = connectController(controllerSettings, '0.1.0');
    const spool = await openSpool({ ...spoolSettings, log, changed: () => reporter.flush() });
    const reporter = startReporter({
      spool,
      connection,
      node: 'gpu-3',
      bootId: async () => 'boot',
      heartbeatMs: 60_000,
      onFollow: () => undefined,
      onNotice: () => undefined,
      log,
    });
    let looks = 0;
    const uploader = startPreflightUploader({
      files: {
        list: () => {
          looks += 1;
          return hang();
        },
        read: () => Promise.reject(new Error('nobody asks')),
      },
      connection,
      node: 'gpu-3',
      stateDirectory: spoolSettings.directory,
      everyMs: 10,
      log,
    });
    try {
      await until(() => looks === 1);
      await spool.append({
        id: 'kernel/boot/1',
        source: 'kernel',
        code: 'xid/79',
        message: 'x',
        seenAt: '2026-11-21T09:15:12.000Z',
      });
      await until(() => spool.status().waiting === 0);
      await until(() => uploader.status().unavailable?.includes('has not answered') === true);
      expect(looks).toBe(1);
    } finally {
      await uploader.stop();
      await reporter.stop();
      const writer = await open(pipe, constants.O_RDWR | constants.O_NONBLOCK);
      await writer.close();
    }
  });
});

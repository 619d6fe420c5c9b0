import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { type RunningAgent, startAgent } from '../../agent/index.ts';
import { remarksOn } from '../../cli/roles/agent.ts';
import { agentSettings } from '../../contract/settings/settings.schema.ts';
import { type HttpsController, startHttpsController } from './https-controller.ts';
import { until } from './until.ts';

let root = '';
let controller: HttpsController;
let agent: RunningAgent | undefined;

beforeEach(async () => {
  controller = await startHttpsController();
  root = await mkdtemp(join(tmpdir(), 'kcover-agent-'));
  await mkdir(join(root, 'dev'));
  await mkdir(join(root, 'proc/sys/kernel/random'), { recursive: true });
  await writeFile(join(root, 'proc/sys/kernel/random/boot_id'), 'boot-1\n');
  await writeFile(join(root, 'dev/kmsg'), 'old\n');
});
afterEach(async () => {
  await agent?.stop();
  await controller.close();
  await rm(root, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const { url, caFile, tokenFile } = controller;
  const settings = agentSettings.parse({
    controller: { url, caFile, tokenFile },
    spool: { directory: join(root, 'spool') },
  });
  agent = await startAgent({
    settings,
    node: 'gpu-3',
    hostRoot: root,
    version: '0.1.0',
    log: pino({ level: 'silent' }),
  });
  await until(() => agent?.status().detectors['kernel-log']?.state === 'watching' && controller.requests.length > 0);
  await setTimeout(400);
}
const codes = () => controller.requests.flatMap(({ batch }) => batch.reports.map((report) => report.fault.code));
const write = (code: number) => appendFile(join(root, 'dev/kmsg'), `NVRM: Xid (PCI:0000:5d:00): ${code}, x\n`);

describe('the agent', () => {
  it('sends a kernel line to the controller as a fault', async () => {
    await start();
    await write(79);
    await until(() => codes().length === 1);
    expect(controller.requests.at(-1)?.batch).toMatchObject({
      node: 'gpu-3',
      bootId: 'boot-1',
      reports: [
        {
          seq: 1,
          fault: {
            id: 'kernel/boot-1/4',
            source: 'kernel',
            code: 'xid/79',
            node: 'gpu-3',
            device: '0000:5d:00',
            action: 'reboot',
            standing: 'current',
          },
        },
      ],
    });
    expect(agent?.status()).toMatchObject({
      node: 'gpu-3',
      detectors: { 'kernel-log': { state: 'watching' } },
      reporter: { failures: 0 },
    });
  });

  it('says that it cannot read files of containers where their directory is not mounted', async () => {
    await start();
    const unavailable = `${join(root, 'var/lib/kcover')} is not there: mount /var/lib/kcover of the node at ${join(root, 'var/lib/kcover')}`;
    await until(
      () => agent?.status().preflight.unavailable !== undefined && agent.status().progress.unavailable !== undefined,
    );
    expect(agent?.status()).toMatchObject({ preflight: { unavailable }, progress: { unavailable } });
    if (agent)
      expect(remarksOn(agent.status())).toEqual([
        `preflight reports cannot be read: ${unavailable}`,
        `progress files cannot be read: ${unavailable}`,
      ]);
    await mkdir(join(root, 'var/lib/kcover'), { recursive: true });
    await until(
      () => agent?.status().preflight.unavailable === undefined && agent?.status().progress.unavailable === undefined,
      10_000,
    );
    if (agent) expect(remarksOn(agent.status())).toEqual([]);
  }, 20_000);

  it('sends after a restart what the controller had not accepted, and processes no line twice', async () => {
    await start();
    controller.answer(() => ({ status: 503 }));
    await write(79);
    await until(() => codes().length > 0);
    await agent?.stop();
    controller.answer(() => undefined);
    const before = controller.requests.length;
    await start();
    await write(48);
    await until(() => codes().includes('xid/48'));
    expect(
      controller.requests
        .slice(before)
        .flatMap(({ batch }) => batch.reports.map((report) => [report.seq, report.fault.code])),
    ).toEqual([
      [1, 'xid/79'],
      [2, 'xid/48'],
    ]);
    expect(new Set(controller.requests.map(({ batch }) => batch.stream)).size).toBe(1);
  });

  it('reports although its spool cannot be written, and says so', async () => {
    await writeFile(join(root, 'spool'), 'a file');
    await start();
    await write(79);
    await until(() => codes().length === 1);
    expect(controller.requests.flatMap(({ batch }) => batch.gaps.map((gap) => gap.what))).toEqual(['spool-unwritable']);
    expect(agent?.status().spool.onDisk).toBe(false);
  });

  it('says that it cannot read the kernel log, and keeps sending heartbeats', async () => {
    await rm(join(root, 'dev/kmsg'));
    await mkdir(join(root, 'dev/kmsg'));
    const { url, caFile, tokenFile } = controller;
    const settings = agentSettings.parse({
      heartbeat: '50ms',
      controller: { url, caFile, tokenFile },
      spool: { directory: join(root, 'spool') },
    });
    agent = await startAgent({
      settings,
      node: 'gpu-3',
      hostRoot: root,
      version: '0.1.0',
      log: pino({ level: 'silent' }),
    });
    await until(
      () => agent?.status().detectors['kernel-log']?.state === 'unavailable' && controller.requests.length > 2,
    );
    expect(agent.status().detectors['kernel-log']?.because).toContain('not a regular file or character device');
  });
});

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { detectors } from '../../agent/detectors/index.ts';
import { FakeTool } from '../support/fake-tool.ts';
import { useNode } from './checked-node.ts';
import { until } from './until.ts';

const node = useNode();

describe("a site's own checks", () => {
  it('are off without a directory', async () => {
    const seen = node.observe(detectors.script, {});
    await seen.is('off', 'scripts.directory');
  });

  it('report faults, also while another one hangs, which is not started again', async () => {
    const directory = join(node.root, 'checks');
    await mkdir(directory);
    const hangs = await new FakeTool(directory, 'a-hangs').create({ ending: 'hangs' });
    await new FakeTool(directory, 'b-fine').create({ output: 'all good' });
    const answer = '{"code":"fan","device":"fan-3","action":"contact-support","message":"fan 3 stands still"}';
    await new FakeTool(directory, 'c-faulty').create({ output: answer, exitCode: 1 });
    const seen = node.observe(detectors.script, { scripts: { directory, every: '10ms', deadline: '200ms' } });
    await until(() => seen.faults.length > 0);
    await seen.is('unavailable', 'a-hangs did not end within 200ms');
    expect(seen.faults).toMatchObject([
      { code: 'script/fan', device: 'fan-3', action: 'contact-support', message: 'c-faulty: fan 3 stands still' },
    ]);
    await seen.detector.stop();
    expect(new Set(hangs.calls().map(({ pid }) => pid)).size).toBe(hangs.calls().length);
  });
});

describe("a site's check that finds a fault again", () => {
  it('reports another fault, although another check does not answer', async () => {
    const directory = join(node.root, 'checks');
    await mkdir(directory);
    await new FakeTool(directory, 'a-unknown').create({ exitCode: 3 });
    const tool = await new FakeTool(directory, 'b-fan').create({ exitCode: 1 });
    const seen = node.observe(detectors.script, { scripts: { directory, every: '10ms' } });
    const calls = async () => {
      const from = tool.calls().length;
      await until(() => tool.calls().length >= from + 4);
    };
    await until(() => seen.faults.length > 0);
    await tool.plays({ exitCode: 2 });
    await calls();
    await tool.plays({ exitCode: 1 });
    await calls();
    expect(seen.codes()).toEqual(['script/b-fan']);
    await tool.plays({ exitCode: 0 });
    await calls();
    await tool.plays({ exitCode: 1 });
    await until(() => seen.faults.length > 1);
    expect(new Set(seen.faults.map(({ id }) => id)).size).toBe(2);
    await seen.is('unavailable', 'exit code 3');
  });
});

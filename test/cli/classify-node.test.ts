import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { kcover } from './kcover.ts';

const directory = mkdtempSync(join(tmpdir(), 'kcover-classify-'));
afterAll(() => rmSync(directory, { recursive: true }));

const list = {
  kind: 'List',
  apiVersion: 'v1',
  items: [
    {
      kind: 'Node',
      metadata: { name: 'gpu-1', uid: 'u1' },
      status: {
        conditions: [
          { type: 'Ready', status: 'True' },
          {
            type: 'AcceleratedHardwareReady',
            status: 'False',
            reason: 'NvidiaXID79Error',
            message: 'detected XID-79',
            lastTransitionTime: '2026-11-22T10:00:00Z',
          },
          { type: 'KernelDeadlock', status: 'Unknown', reason: 'KernelHasNoDeadlock' },
          { type: 'NTPProblem', status: 'True', reason: 'NTPIsDown', lastTransitionTime: '2026-11-22T10:00:00Z' },
        ],
        capacity: { 'nvidia.com/gpu': '8' },
        allocatable: { 'nvidia.com/gpu': '7' },
      },
    },
  ],
};

describe('kcover classify --node', () => {
  it('says which faults a list of nodes has, their levels and responses, and what cannot be observed', async () => {
    const { stdout, stderr, code } = await kcover(['classify', '--node', '-', '-o', 'json'], JSON.stringify(list));
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(JSON.parse(stdout)).toEqual({
      faults: [
        expect.objectContaining({
          source: 'condition',
          code: 'xid/79',
          node: 'gpu-1',
          level: 'node',
          response: 'quarantine',
        }),
        expect.objectContaining({
          source: 'condition',
          code: 'condition/NTPProblem',
          level: 'unknown',
          response: 'warn',
        }),
        expect.objectContaining({
          source: 'allocatable',
          code: 'allocatable/missing-devices',
          level: 'device',
          response: 'quarantine',
        }),
      ],
      unobservable: [expect.objectContaining({ source: 'condition', what: 'KernelDeadlock', node: 'gpu-1' })],
    });
  });

  it('takes the responses to codes of conditions from the settings', async () => {
    const file = join(directory, 'worker.yaml');
    writeFileSync(
      file,
      'faults:\n  codes:\n    condition/NTPProblem: quarantine\n    xid/79: record\n    allocatable/missing-devices: warn\n',
    );
    const { stdout } = await kcover(['classify', '--node', '-', '--config', file, '-o', 'json'], JSON.stringify(list));
    const { faults } = JSON.parse(stdout) as { faults: readonly { readonly response: string }[] };
    expect(faults.map(({ response }) => response)).toEqual(['record', 'quarantine', 'warn']);
  });

  it.each([
    ['text', 'it is no JSON'],
    ['{"kind":"Pod","metadata":{"name":"x"}}', 'neither a Node nor a list of nodes'],
  ])('refuses %s with what to do instead', async (text, because) => {
    const { stderr, code } = await kcover(['classify', '--node', '-'], text);
    expect(code).not.toBe(0);
    expect(stderr).toContain(because);
    expect(stderr).toContain('kubectl get nodes -o json');
  });
});

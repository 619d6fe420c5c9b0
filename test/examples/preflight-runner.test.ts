import { afterAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readReport, reportProfiles } from '../../faults/preflight/report.ts';

const runner = fileURLToPath(new URL('../../examples/preflight/preflight.py', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'kcover-runner-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const file = join(scratch, 'train', 'llm-3.json');

/** Runs the checks that need no torch. */
const run = (more: Record<string, string> = {}) =>
  spawnSync('python3', [runner], {
    encoding: 'utf8',
    env: {
      PATH: process.env['PATH'] ?? '',
      PYTHONDONTWRITEBYTECODE: '1',
      NAMESPACE: 'train',
      WORKLOAD: 'llm',
      SIZE: '4',
      RANK: '2',
      RANK_OFFSET: '1',
      NODE_NAME: 'gpu-3',
      POD_IP: '10.0.0.3',
      POD_UID: 'pod',
      PREFLIGHT_DIR: scratch,
      ...more,
    },
  });

describe('the example of a preflight runner', () => {
  it('writes a valid report of a broken mount, and exits with 1', () => {
    const { status, stderr } = run({
      PREFLIGHT_STORAGE: `${scratch}:${join(scratch, 'not-mounted')}`,
      BUSBW_THRESHOLD_GBPS: '5',
    });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('not-mounted') });
    expect(readReport(readFileSync(file, 'utf8'), reportProfiles.live)).toEqual({
      kind: 'report',
      report: { size: 4, rank: 3, node: 'gpu-3', address: '10.0.0.3', failed: ['storage'], tests: [] },
    });
  });

  it('replaces a good report by that of a broken node, without leaving a temporary file', () => {
    mkdirSync(join(scratch, 'train'), { recursive: true });
    writeFileSync(file, JSON.stringify({ pod_uid: 'pod', batches: [{ batch_idx: 0, status: 'ok' }] }));
    run({ PREFLIGHT_STORAGE: join(scratch, 'not-mounted') });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ storage_check: 2, batches: [] });
    expect(readdirSync(join(scratch, 'train'))).toEqual(['llm-3.json']);
  });

  it('says which variable is missing', () => {
    expect(run({ NODE_NAME: '' })).toMatchObject({ status: 1, stderr: 'preflight: NODE_NAME is not set\n' });
  });
});

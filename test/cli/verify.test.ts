import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { resultOfExit } from '../../activities/remedy/answer.ts';
import { hookRequest } from '../support/hook-requests.ts';
import { kcover } from './kcover.ts';

const burn = 'Tested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: OK\n';
const directory = mkdtempSync(join(tmpdir(), 'verify-'));
const file = (name: string, text: string): string => {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
};

describe('kcover verify', () => {
  it.each([
    ['passed', burn, 0],
    ['failed', burn.replace('1: OK', '1: FAULTY'), 1],
    ['unknown', 'Tested 2 GPUs:\n', 2],
  ])('answers a hook with one document and an exit code: %s', async (verdict, output, code) => {
    const written = join(directory, verdict);
    const ran = await kcover(['verify', '--tool', 'gpu-burn', '--write', written], output);
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code, stderr: '' });
    expect(readFileSync(written, 'utf8')).toBe(ran.stdout.trim());
    expect(resultOfExit(ran.code ?? 70, ran.stdout, hookRequest()).verdict).toBe(verdict);
  });

  it('takes the exit code of the tool from a file, and says that it is busy', async () => {
    const args = ['--exit-code', file('code', '217\n'), file('diag.json', '')];
    const { code, stdout } = await kcover(['verify', '--tool', 'dcgm', ...args]);
    expect({ code, answer: JSON.parse(stdout) as unknown }).toEqual({
      code: 2,
      answer: { verdict: 'busy', because: 'another diagnostic runs already' },
    });
  });

  it.each([
    ['the output is missing', ['/nowhere/diag.json']],
    ['the exit code is missing', ['--exit-code', '/nowhere/code', file('empty', '')]],
    ['the exit code is none', ['--exit-code', file('text', 'x'), file('empty', '')]],
  ])('does not know when %s', async (_, args) => {
    const { code, stdout } = await kcover(['verify', '--tool', 'dcgm', ...args]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      verdict: 'unknown',
      because: expect.stringContaining('cannot be read'),
    });
  });

  it('refuses a bound that is no number', async () => {
    const { code, stderr } = await kcover(['verify', '--tool', 'nccl', '--at-least', '4e2'], '');
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--at-least is 4e2') });
  });
});

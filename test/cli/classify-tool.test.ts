import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { recorded } from '../support/recorded.ts';
import { kcover } from './kcover.ts';

const file = (name: string) => fileURLToPath(new URL(`../fixtures/tools/${name}`, import.meta.url));

describe('kcover classify --tool', () => {
  it('prints the faults of an output with level and response, and what is unobservable', async () => {
    const { stdout, stderr, code } = await kcover(
      ['classify', '--tool', 'nvidia-smi', '--output', 'json'],
      recorded('nvidia-smi-lost.csv'),
    );
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(JSON.parse(stdout)).toEqual({
      faults: [
        {
          source: 'smi',
          code: 'smi/gpu-lost',
          device: '0000:34:00',
          level: 'node',
          response: 'quarantine',
          message: expect.stringContaining('Unable to determine the device handle'),
          because: expect.any(String),
        },
      ],
      unobservable: [expect.objectContaining({ source: 'smi', because: 'nvidia-smi prints N/A' })],
    });
  });

  it.each([
    ['nvidia-smi', 'nvidia-smi-h200.csv', []],
    [
      'nvidia-smi-xml',
      'nvidia-smi-a800.xml',
      ['smi/hw-thermal', 'smi/reset-required', 'smi/rows-pending', 'smi/ecc-uncorrected'],
    ],
    ['nvlink', 'nvlink-gpu2-inactive.txt', ['smi/nvlink-inactive', 'smi/nvlink-inactive']],
    ['ibstat', 'ibstat-two.txt', ['link/down']],
    ['ibv_devinfo', 'ibv_devinfo-mlx4.txt', ['link/down']],
    ['mx-smi', 'mx-smi-unavailable.txt', ['smi/gpu-unavailable']],
    ['hccn', 'hccn-link-stat.txt', []],
    ['chronyc', 'chronyc-not-synchronised.csv', ['clock/not-synchronised']],
  ])('reads the output of %s from a file', async (format, name, codes) => {
    const { stdout } = await kcover(['classify', '--tool', format, '--output', 'json', file(name)]);
    const { faults } = JSON.parse(stdout) as { faults: { code: string }[] };
    expect(faults.map(({ code }) => code)).toEqual(codes);
  });

  it('says that it cannot observe anything where the output is of another tool', async () => {
    const { stdout, code } = await kcover(['classify', '--tool', 'chronyc', file('ibstat-two.txt')]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^no fault\ncannot observe chronyc tracking: it prints: CA 'mlx5_0'/);
  });

  it('refuses a tool that it does not know', async () => {
    const { stderr, code } = await kcover(['classify', '--tool', 'rocm-smi', file('ibstat-two.txt')]);
    expect(code).toBe(2);
    expect(stderr).toContain('nvidia-smi-xml');
  });
});

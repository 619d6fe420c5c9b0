import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { kcover } from './kcover.ts';

const offBus = 'NVRM: Xid (PCI:0000:5d:00): 79, pid=1234, name=python, GPU has fallen off the bus.';

describe('kcover classify', () => {
  it('prints one object for each line with a fault', async () => {
    const { stdout, stderr, code } = await kcover(['classify', '--output', 'json', offBus, 'usb 1-1: new device']);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({
        code: 79,
        kind: 'xid',
        pci: '0000:5d:00',
        pid: 1234,
        process: 'python',
        link: null,
        severity: 'critical',
        action: 'reboot',
        because: expect.any(String),
      }),
    ]);
  });

  it('prints an empty list when no line has a fault', async () => {
    expect(await kcover(['classify', '-o', 'json', 'hello'])).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
  });

  it.each([
    ['a raw record of /dev/kmsg', `4,1207,98765432,-;${offBus}`],
    ['a line of dmesg', `[   98.765432] ${offBus}`],
    ['a line of dmesg --ctime', `[Sat Nov 21 07:09:03 2026] ${offBus}`],
  ])('reads %s from stdin', async (_sentence, line) => {
    const { stdout } = await kcover(['classify', '-o', 'yaml'], `something else\n${line}\n`);
    expect(parse(stdout)).toMatchObject([{ code: 79, pci: '0000:5d:00' }]);
  });

  it('prints a table without borders', async () => {
    const { stdout } = await kcover(['classify', offBus]);
    expect(stdout).toMatch(
      /^CODE +PCI +SEVERITY +ACTION +BECAUSE\nxid\/79 +0000:5d:00 +critical +reboot +Xid 79 .+\n$/,
    );
  });

  it('reads the log of a container, and never lets it quarantine a node', async () => {
    const files = ['watchdog', 'nccl', 'torchrun'].map((name) =>
      fileURLToPath(new URL(`../fixtures/logs/${name}.log`, import.meta.url)),
    );
    const { stdout, stderr } = await kcover(['classify', '-o', 'json', '--log', ...files]);
    expect(stderr).toBe('');
    const { faults, unobservable } = JSON.parse(stdout) as {
      faults: readonly Record<string, string>[];
      unobservable: unknown;
    };
    expect(unobservable).toEqual([]);
    expect(faults.map(({ code, level, response }) => [code, level, response])).toEqual([
      ['log/watchdog-timeout', 'job', 'record'],
      ['log/watchdog-position', 'job', 'record'],
      ['log/watchdog-dump', 'job', 'record'],
      ['log/nccl-completion', 'unknown', 'warn'],
      ['log/nccl-remote', 'job', 'record'],
      ['log/cuda-ecc', 'device', 'warn'],
      ['log/torchrun-failure', 'job', 'record'],
    ]);
    expect(faults[5]).toMatchObject({
      source: 'log',
      message: 'torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered',
    });
  });

  it('finds nothing in the log of a training that goes well, and cannot observe an empty one', async () => {
    const log = 'Application startup complete.\nout of memory is not a word of CUDA here\n';
    expect(JSON.parse((await kcover(['classify', '-o', 'json', '--log', '-'], log)).stdout)).toEqual({
      faults: [],
      unobservable: [],
    });
    const { stdout } = await kcover(['classify', '--log', '-'], '\n');
    expect(stdout).toBe('no fault\ncannot observe the log: it is empty\n');
  });

  it('hides secrets that a log holds', async () => {
    const line = 'RuntimeError: CUDA out of memory; HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345';
    const { stdout } = await kcover(['classify', '-o', 'json', '--log', '-'], line);
    expect(stdout).toContain('log/cuda-out-of-memory');
    expect(stdout).not.toContain('hf_abcdef');
  });
});

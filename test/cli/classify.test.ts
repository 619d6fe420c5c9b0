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
});

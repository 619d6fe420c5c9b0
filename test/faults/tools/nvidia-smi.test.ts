import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { levelOf } from '../../../faults/finding.ts';
import { readNvidiaSmiCsv } from '../../../faults/tools/nvidia-smi/csv.ts';
import { readNvlink } from '../../../faults/tools/nvidia-smi/nvlink.ts';
import { readNvidiaSmiXml } from '../../../faults/tools/nvidia-smi/xml.ts';
import { recorded } from '../../support/recorded.ts';

const healthy = recorded('nvidia-smi-h200.csv');
const xml = recorded('nvidia-smi-4070.xml');
const short = ({ faults }: { faults: readonly { code: string; device?: string; action?: string }[] }) =>
  faults.map(({ code, device, action }) => [code, device, action]);

/** A row of the documented query in which the named values differ. */
const row = (values: Readonly<Record<number, string>>): string =>
  (healthy.split('\n')[0] ?? '')
    .split(', ')
    .map((value, at) => values[at] ?? value)
    .join(', ');

const [bus, reasons, ecc, pending, failure, fabric, recovery] = [2, 7, 8, 9, 10, 13, 14];

describe('nvidia-smi as CSV', () => {
  it('finds nothing on healthy GPUs, in the documented order and below a header in any order', () => {
    expect(readNvidiaSmiCsv(healthy)).toMatchObject({
      devices: 2,
      faults: [],
      unobservable: [],
      incomplete: undefined,
    });
    const shuffled = 'gpu_recovery_action, pci.bus_id, power.draw [W], index\nNone, 00000000:19:00.0, 118.42 W, 3\n';
    expect(readNvidiaSmiCsv(shuffled)).toMatchObject({ devices: 1, faults: [], unobservable: [] });
  });

  it.each([
    ['None', undefined, undefined],
    ['Reset', 'smi/reset-required', 'reset-gpu'],
    ['Drain P2P', 'smi/reset-required', 'reset-gpu'],
    ['Drain and Reset', 'smi/reset-required', 'reset-gpu'],
    ['Reboot', 'smi/reboot-required', 'reboot'],
    ['System Reboot', 'smi/reboot-required', 'reboot'],
    ['Recover IMEX Domain', 'smi/recovery-unknown', undefined],
  ])('obeys the recovery action %s as Xid 154', (word, code, action) => {
    const found = readNvidiaSmiCsv(row({ [recovery]: word }));
    expect(short(found)).toEqual(code === undefined ? [] : [[code, '0000:19:00', action]]);
  });

  it.each([
    [{ [pending]: '1' }, 'smi/rows-pending', undefined],
    [{ [pending]: 'Yes' }, 'smi/rows-pending', undefined],
    [{ [failure]: 'Yes' }, 'smi/rows-failed', 'contact-support'],
    [{ [ecc]: '3' }, 'smi/ecc-uncorrected', undefined],
    [{ [reasons]: '0x0000000000000008' }, 'smi/hw-slowdown', undefined],
    [{ [reasons]: '0x0000000000000048' }, 'smi/hw-thermal', undefined],
    [{ [reasons]: '0x0000000000000088' }, 'smi/power-brake', undefined],
    [{ [fabric]: 'Insufficient Resources' }, 'smi/fabric-error', undefined],
  ])('finds in %j the fault %s', (values, code, action) => {
    expect(short(readNvidiaSmiCsv(row(values)))).toEqual([[code, '0000:19:00', action]]);
  });

  it.each(['[N/A]', 'N/A', '[Not Supported]', '[Unknown Error]', 'ERR!', '', '-1', '1e9', 'many', '0x', '９'])(
    'takes %j for a value that cannot be observed, whatever the field',
    (text) => {
      const values = Object.fromEntries([reasons, ecc, pending, failure, recovery].map((at) => [at, text]));
      const { faults, unobservable } = readNvidiaSmiCsv(row(values));
      expect(faults.filter(({ standing }) => standing !== 'unknown')).toEqual([]);
      expect(unobservable.map(({ what }) => what).join()).toContain('remapped_rows.failure');
    },
  );

  it('is complete where a GPU does not have a feature, and incomplete where it does not answer', () => {
    expect(readNvidiaSmiCsv(row({ [ecc]: '[N/A]' })).incomplete).toBeUndefined();
    expect(readNvidiaSmiCsv(row({ [ecc]: '[Unknown Error]' })).incomplete).toContain('Unknown Error');
  });

  it('finds a GPU that requires a reset or is lost in any of its fields', () => {
    expect(short(readNvidiaSmiCsv(recorded('nvidia-smi-requires-reset.csv')))).toEqual([
      ['smi/reset-required', 'gpu-0', 'reset-gpu'],
    ]);
    const lost = Object.fromEntries([1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14].map((at) => [at, '[GPU is lost]']));
    expect(short(readNvidiaSmiCsv(row(lost)))).toEqual([['smi/gpu-lost', '0000:19:00', 'reboot']]);
  });

  it.each([
    ['Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error', '0000:cb:00'],
    [
      'Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.  Reboot the system to recover this GPU',
      '0000:05:00',
    ],
    ['Unable to determine the device handle for gpu 0000:08:00.0: Unknown Error', '0000:08:00'],
    ['Unable to determine the device handle for GPU1: Unknown Error', 'gpu-1'],
  ])('finds the lost card in %j', (line, device) => {
    expect(short(readNvidiaSmiCsv(line))).toEqual([['smi/gpu-lost', device, 'reboot']]);
  });

  it('finds the lost card beside the rows of others, and not that others are missing', () => {
    const found = readNvidiaSmiCsv(recorded('nvidia-smi-lost.csv'), { gpus: 8 });
    expect(found.devices).toBe(2);
    expect(short(found)).toEqual([['smi/gpu-lost', '0000:34:00', 'reboot']]);
  });

  it('compares the number of GPUs only with an expected one', () => {
    expect(short(readNvidiaSmiCsv(healthy, { gpus: 8 }))).toEqual([['smi/gpu-missing', undefined, 'reboot']]);
    expect(short(readNvidiaSmiCsv('No devices were found\n', { gpus: 8 }))).toEqual([
      ['smi/gpu-missing', undefined, 'reboot'],
    ]);
    expect(readNvidiaSmiCsv('No devices were found\n')).toMatchObject({
      faults: [],
      unobservable: [{ what: 'GPUs', because: expect.stringContaining('not known') }],
    });
    expect(short(readNvidiaSmiCsv(`${row({})}\n${row({})}\n`, { gpus: 2 }))).toEqual([
      ['smi/gpu-missing', undefined, 'reboot'],
    ]);
  });

  it.each([
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    'Failed to initialize NVML: Driver/library version mismatch',
    'Field "gpu_recovery_action" is not a valid field to query.',
    'Unable to determine the device handle for GPU0000:CB:00.0: Insufficient Permissions',
    'bash: nvidia-smi: command not found',
    '',
    '0, GPU-8f0500a5',
  ])('does not say anything about GPUs where it prints %j', (text) => {
    const found = readNvidiaSmiCsv(text, { gpus: 8 });
    expect(found.faults).toEqual([]);
    expect(found.unobservable).toHaveLength(1);
    expect(found.incomplete).toBeDefined();
  });

  it('does not count the GPUs of an output that was cut off', () => {
    const flood = `${healthy}${'x'.repeat(5 * 1024 * 1024)}`;
    expect(readNvidiaSmiCsv(flood, { gpus: 8 })).toMatchObject({ faults: [], incomplete: expect.any(String) });
  });

  it('does not take a fabric that is still being joined for a fault', () => {
    expect(readNvidiaSmiCsv(recorded('nvidia-smi-fabric.csv')).faults).toEqual([]);
  });

  it('never throws, and never finds a fault in other text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(fc.string()).map((cells) => cells.join(', ')),
        ),
        (text) => {
          expect(readNvidiaSmiCsv(text).faults).toEqual([]);
          expect(readNvidiaSmiXml(text).faults).toEqual([]);
          expect(readNvlink(text).faults).toEqual([]);
        },
      ),
    );
  });

  it('finds nothing but unknown values where a healthy row is damaged', () => {
    const damage = fc.record({
      at: fc.integer({ min: 3, max: 14 }),
      text: fc.string().filter((one) => !one.includes(',')),
    });
    fc.assert(
      fc.property(damage, ({ at, text }) => {
        const lost = /gpu is lost|gpu requires reset/i.test(text);
        const certain = readNvidiaSmiCsv(row({ [at]: text })).faults.filter((fault) => levelOf(fault) !== 'unknown');
        if (!lost) expect(certain.filter(({ code }) => code !== 'smi/rows-failed')).toEqual([]);
      }),
    );
    expect(row({ [bus]: 'x' })).not.toBe(row({}));
  });
});

describe('nvidia-smi -q -x', () => {
  it('finds nothing on a healthy GPU without ECC, whose fields it names as unobservable', () => {
    const found = readNvidiaSmiXml(xml);
    expect(found).toMatchObject({ devices: 1, faults: [], incomplete: undefined });
    expect(found.unobservable).toEqual([
      expect.objectContaining({
        what: expect.stringContaining('sram.threshold_exceeded'),
        because: 'nvidia-smi prints N/A',
      }),
    ]);
  });

  it('finds the recovery action, a pending row, memory errors and a thermal slowdown', () => {
    expect(short(readNvidiaSmiXml(recorded('nvidia-smi-a800.xml')))).toEqual([
      ['smi/hw-thermal', '0000:4f:00', undefined],
      ['smi/reset-required', '0000:52:00', 'reset-gpu'],
      ['smi/rows-pending', '0000:52:00', undefined],
      ['smi/ecc-uncorrected', '0000:52:00', undefined],
    ]);
  });

  it.each([
    ['it ends early', xml.slice(0, -200), 'too early'],
    ['an end tag is missing', xml.replace('</temperature>', ''), 'without its start'],
    ['it declares entities', xml.replace('"nvsmi_device_v12.dtd"', '[<!ENTITY a "b">]'), 'unknown form'],
    ['something follows the root', `${xml}<gpu id="0"></gpu>`, 'behind its root'],
    ['it is too large', `${xml}${' '.repeat(5 * 1024 * 1024)}`, 'characters'],
    ['it is nested too deeply', '<a>'.repeat(50), 'nested'],
  ])('is not read at all where %s', (_, text, because) => {
    expect(readNvidiaSmiXml(text, { gpus: 8 })).toMatchObject({
      devices: 0,
      faults: [],
      unobservable: [{ because: expect.stringContaining(because) }],
    });
  });

  it('is read in linear time', () => {
    const started = performance.now();
    readNvidiaSmiXml('<'.repeat(4_000_000));
    readNvidiaSmiXml(`<a ${'b="c" '.repeat(600_000)}>`);
    readNvidiaSmiXml('<a>'.repeat(1_300_000));
    readNvidiaSmiCsv('a, '.repeat(1_300_000));
    readNvlink('GPU 0: '.repeat(600_000));
    expect(performance.now() - started).toBeLessThan(5000);
  });

  it('finds a lost card that is named before the document, or instead of it', () => {
    const line = 'Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error\n';
    expect(short(readNvidiaSmiXml(line))).toEqual([['smi/gpu-lost', '0000:cb:00', 'reboot']]);
    expect(short(readNvidiaSmiXml(`${line}${xml}`))).toEqual([['smi/gpu-lost', '0000:cb:00', 'reboot']]);
  });

  it('never throws on a damaged document', () => {
    const damaged = fc
      .tuple(fc.nat(xml.length), fc.nat(40), fc.string())
      .map(([at, length, text]) => `${xml.slice(0, at)}${text}${xml.slice(at + length)}`);
    fc.assert(fc.property(damaged, (text) => readNvidiaSmiXml(text).devices <= 2));
  });
});

describe('nvidia-smi nvlink -s', () => {
  it('finds nothing where all links are active', () => {
    expect(readNvlink(recorded('nvlink-h100.txt'))).toEqual({ devices: 2, faults: [], unobservable: [] });
  });

  it('finds the GPU with inactive links, and the one without any, where others have active links', () => {
    expect(readNvlink(recorded('nvlink-gpu2-inactive.txt')).faults).toEqual([
      expect.objectContaining({
        device: 'GPU-0000feed-0000-4000-8000-000000000001',
        message: expect.stringContaining('links 7 of GPU 1'),
      }),
      expect.objectContaining({
        device: 'GPU-0000feed-0000-4000-8000-000000000002',
        message: expect.stringContaining('all links of GPU 2'),
      }),
    ]);
  });

  it('cannot say anything where no link of the node is active, as without a bridge', () => {
    const text = 'GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-1)\n\t Link 0: <inactive>\n\t Link 1: <inactive>\n';
    expect(readNvlink(text)).toMatchObject({ faults: [], unobservable: [{ what: 'NVLink' }] });
  });

  it('does not take a word that is neither a rate nor <inactive> for either', () => {
    const text = 'GPU 0: A100 (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\t Link 1: some future status\n';
    expect(readNvlink(text)).toMatchObject({ faults: [], unobservable: [{ what: 'links 1 of GPU 0' }] });
  });
});

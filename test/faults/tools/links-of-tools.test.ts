import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { levelOf } from '../../../faults/finding.ts';
import { readHccn } from '../../../faults/tools/hccn.ts';
import { readIbstat } from '../../../faults/tools/rdma/ibstat.ts';
import { readIbvDevinfo } from '../../../faults/tools/rdma/ibv-devinfo.ts';
import { recorded } from '../../support/recorded.ts';

const ibstat = recorded('ibstat-two.txt');
const devinfo = recorded('ibv_devinfo-mlx4.txt');
const nothing = expect.objectContaining({ because: expect.stringContaining('names no port') });

describe('ibstat', () => {
  it('finds the port that is not Active, for a person: it may have no cable', () => {
    const { devices, faults, unobservable } = readIbstat(ibstat);
    expect({ devices, unobservable }).toEqual({ devices: 2, unobservable: [] });
    expect(faults).toMatchObject([
      { code: 'link/down', device: 'mlx5_1', message: 'ibstat: port 1 of mlx5_1 is Initializing (LinkUp), rate 100' },
    ]);
    expect(faults.map(levelOf)).toEqual(['unknown']);
  });

  it('cannot observe a port without a state, or with a state of another name', () => {
    expect(readIbstat(ibstat.replace('\t\tState: Active\n', ''))).toMatchObject({
      faults: [{ device: 'mlx5_1' }],
      unobservable: [{ what: 'port 1 of mlx5_0', because: 'ibstat prints no state' }],
    });
    expect(readIbstat(ibstat.replace('State: Active', 'State: Bad'))).toMatchObject({
      unobservable: [{ because: 'ibstat prints the state Bad' }],
    });
  });

  it.each(['', 'ibpanic: [2137592] main: stat of IB device failed: No such file or directory', "CA 'mlx5_0'\n"])(
    'says nothing where it prints %j',
    (text) => {
      expect(readIbstat(text)).toEqual({ devices: 0, faults: [], unobservable: [nothing] });
    },
  );
});

describe('ibv_devinfo', () => {
  it('judges each port of a device', () => {
    expect(readIbvDevinfo(devinfo)).toMatchObject({
      devices: 2,
      faults: [{ code: 'link/down', device: 'mlx4_0', message: expect.stringContaining('port 2') }],
      unobservable: [],
    });
  });

  it('reads the verbose form, in which the physical state follows', () => {
    const verbose =
      'hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_DOWN (1)\n\t\t\tphys_state:\t\tPOLLING (2)\n';
    expect(readIbvDevinfo(verbose).faults).toMatchObject([
      { message: 'ibv_devinfo: port 1 of mlx5_0 is PORT_DOWN (POLLING)' },
    ]);
  });

  it('says nothing where it prints no device', () => {
    expect(readIbvDevinfo('No IB devices found\n')).toEqual({ devices: 0, faults: [], unobservable: [nothing] });
  });
});

describe('hccn_tool', () => {
  it.each([
    ['link status: UP\n', []],
    ['link status: DOWN\n', [{ code: 'link/down', device: 'npu-0' }]],
    ['[device 3]link status: DOWN\n', [{ code: 'link/down', device: 'npu-3' }]],
  ])('judges %j', (text, faults) => {
    expect(readHccn(text)).toMatchObject({ faults, unobservable: [] });
  });

  it('makes no fault of counts, which say nothing without an earlier look', () => {
    expect(readHccn(recorded('hccn-link-stat.txt'))).toMatchObject({ faults: [], unobservable: [] });
    expect(readHccn('[device 0]link up count : 3\n')).toMatchObject({ faults: [], unobservable: [] });
  });

  it('cannot observe a state of another name, and says nothing where there is none', () => {
    expect(readHccn('link status: UNKNOWN\n')).toMatchObject({ faults: [], unobservable: [{ what: 'link of npu-0' }] });
    expect(readHccn('hccn_tool is busy\n')).toMatchObject({ devices: 0, faults: [], unobservable: [{}] });
  });
});

describe('readers of links', () => {
  it('never throw, and find nothing in other text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const read of [readIbstat, readIbvDevinfo, readHccn]) expect(read(text).faults).toEqual([]);
      }),
    );
  });

  it('find no certain fault in a damaged output', () => {
    const damaged = fc
      .tuple(fc.constantFrom(ibstat, devinfo), fc.nat(700), fc.nat(60), fc.string())
      .map(([text, at, length, other]) => `${text.slice(0, at)}${other}${text.slice(at + length)}`);
    fc.assert(
      fc.property(damaged, (text) => {
        const faults = [...readIbstat(text).faults, ...readIbvDevinfo(text).faults];
        expect(faults.filter((fault) => levelOf(fault) !== 'unknown')).toEqual([]);
      }),
    );
  });
});

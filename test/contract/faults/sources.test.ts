import { describe, expect, it } from '@jest/globals';
import {
  type FaultSource,
  faultSources,
  isFaultSource,
  sourcesOf,
  traitsOf,
} from '../../../contract/faults/sources.ts';
import { nodeNotReady, preflightFaults, recoveryRequested, trainingHangs } from '../../../contract/faults/faults.ts';
import { codeOf, folderOf, sources as files, textOf } from '../../architecture/sources.ts';
import { product } from '../../architecture/import-table.ts';

const names = Object.keys(faultSources) as FaultSource[];

describe('the sources of faults', () => {
  it.each<[string, FaultSource]>([
    ['xid/79', 'kernel'],
    ['sxid/20034', 'kernel'],
    ['kernel/gpu-off-bus', 'kernel'],
    ['link/down', 'link'],
    ['smi/gpu-lost', 'smi'],
    ['disk/read-only', 'disk'],
    ['clock/offset', 'clock'],
    ['script/fan-speed', 'script'],
    ['pod/oom-killed', 'pod'],
    [nodeNotReady, 'node'],
    ['condition/KernelDeadlock', 'condition'],
    ['condition/example.com/GPUsHealthy', 'condition'],
    ['allocatable/missing-devices', 'allocatable'],
    ['ascend/80E01801', 'device-plugin'],
    ['external/GpuLost', 'external'],
    [preflightFaults.slow, 'preflight'],
    [trainingHangs, 'progress'],
    ['log/cuda-ecc', 'log'],
    [recoveryRequested, 'operator'],
  ])('have codes that tell them apart: %s', (code, source) => {
    expect(names.filter((name) => traitsOf(name).codes.test(code))).toEqual([source]);
  });

  it('are known by their own names only', () => {
    expect([...names, 'constructor', 'toString', '', 7, undefined].filter(isFaultSource)).toEqual(names);
  });

  it('give actions to codes of their own only', () => {
    const others = names.filter((name) =>
      Object.keys(traitsOf(name).actions ?? {}).some((code) => !traitsOf(name).codes.test(code)),
    );
    expect(others).toEqual([]);
  });

  it.each([
    ['ascend/80E01801', 'device-plugin', true],
    ['allocatable/unhealthy-device', 'allocatable', true],
    ['allocatable/missing-devices', 'allocatable', false],
  ] as const)('are recorded at a release where it does not read their objects: %s', (code, source, isRecorded) => {
    expect(traitsOf(source).recordedAtRelease?.test(code) ?? false).toBe(isRecorded);
  });

  it('of an agent are those that the intake accepts', () => {
    expect(sourcesOf('agent')).toEqual(['kernel', 'link', 'smi', 'disk', 'clock', 'script']);
  });

  it('are looked up by their traits: no file compares the name of a source', () => {
    const compared = new RegExp(`\\bsource\\b\\s*[!=]==\\s*'(${names.join('|')})'|case '(kernel|operator)':`);
    expect(compared.test("if (fault.source === 'kernel')")).toBe(true);
    expect(files.filter((file) => product.includes(folderOf(file)) && compared.test(codeOf(textOf(file))))).toEqual([]);
  });
});

import { describe, expect, it } from '@jest/globals';
import {
  isActive,
  matchesDevice,
  parseLinkLayer,
  parsePhysState,
  parseState,
  pciOf,
} from '../../../faults/link/port.ts';

describe('the state of an RDMA port', () => {
  it.each([
    ['1: DOWN\n', 'DOWN', false],
    ['2: INIT\n', 'INIT', false],
    ['3: ARMED\n', 'ARMED', false],
    ['4: ACTIVE\n', 'ACTIVE', true],
    ['5: ACTIVE_DEFER\n', 'ACTIVE_DEFER', true],
    ['4: ACTIVE', 'ACTIVE', true],
  ])('is read from %j', (text, state, active) => {
    expect(parseState(text)).toBe(state);
    expect(isActive(state)).toBe(active);
  });

  it.each([
    '',
    '\n',
    '4',
    'ACTIVE',
    '4: DOWN',
    '1: ACTIVE',
    '0: NOP',
    '6: UNKNOWN',
    '4:ACTIVE',
    ' 4: ACTIVE',
    '4: ACTIVE\n4: ACTIVE',
    '4: ACTIVE\u0000',
    '1: constructor',
  ])('is unknown where the file says %j', (text) => {
    expect(parseState(text)).toBeUndefined();
  });

  it.each([
    ['5: LinkUp\n', 'LinkUp'],
    ['2: Polling\n', 'Polling'],
    ['3: Disabled\n', 'Disabled'],
    ['7: Phy Test\n', 'Phy Test'],
    ['8: <unknown>\n', '<unknown>'],
    ['LinkUp', undefined],
    ['5: \u001B[31mLinkUp', undefined],
    [`5: ${'x'.repeat(50)}`, undefined],
  ])('has the physical state of %j', (text, physState) => {
    expect(parsePhysState(text)).toBe(physState);
  });

  it.each([
    ['InfiniBand\n', 'InfiniBand'],
    ['Ethernet\n', 'Ethernet'],
    ['Unknown\n', 'Unknown'],
    ['IB\n', undefined],
    ['Ethernet and more\n', undefined],
  ])('has the link layer of %j', (text, layer) => {
    expect(parseLinkLayer(text)).toBe(layer);
  });
});

describe('the PCI address of an RDMA device', () => {
  it.each([
    ['/sys/devices/pci0000:5c/0000:5c:01.0/0000:5d:00.0/infiniband/mlx5_0', '0000:5d:00'],
    ['/sys/devices/pci0000:5c/0000:5c:01.0/0000:5D:00.1/infiniband/mlx5_1', '0000:5d:00'],
    ['/sys/devices/virtual/infiniband/rxe0', undefined],
    ['/sys/devices/pci0000:5c/0000:5d:00.0/net/eth0', undefined],
  ])('of %s is that of its card', (path, pci) => {
    expect(pciOf(path)).toBe(pci);
  });
});

describe('a name in the settings', () => {
  it.each([
    ['mlx5_0', 'mlx5_0', true],
    ['mlx5_0', 'mlx5_01', false],
    ['mlx5_*', 'mlx5_11', true],
    ['mlx5_*', 'mlx4_0', false],
    ['*', 'efa_0', true],
    ['rocep*s0', 'rocep93s0', true],
    ['rocep*s0', 'rocep93s0v1', false],
    ['ab*bc', 'abc', false],
    ['ab*b*c', 'abxbc', true],
    ['m.x*', 'mlx5_0', false],
    ['', 'mlx5_0', false],
  ])('%j against %j', (pattern, device, matches) => {
    expect(matchesDevice(pattern, device)).toBe(matches);
  });

  it('takes no longer the more stars it has', () => {
    const began = performance.now();
    expect(matchesDevice('*a'.repeat(32), `${'a'.repeat(63)}b`)).toBe(false);
    expect(performance.now() - began).toBeLessThan(50);
  });
});

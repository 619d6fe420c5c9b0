import { describe, expect, it } from '@jest/globals';
import { isSameKernelLine } from '../../../contract/faults/same-kernel-line.ts';
import type { Fault } from '../../../contract/faults/faults.ts';
import { kernelFault } from '../../support/builders.ts';

const us = 4_711_000_042;
const byAgent = (more: Partial<Fault> = {}) => kernelFault({ kernelUs: us, ...more });
function shipped(more: Partial<Fault> = {}): Fault {
  const { kernel: _, ...rest } = kernelFault({ id: 'kernel/loki/1', kernelUs: us, ...more });
  return rest;
}
const untimed = (more: Partial<Fault> = {}): Fault => {
  const { kernelUs: _, ...rest } = shipped(more);
  return rest;
};
const later = (seconds: number): Partial<Fault> => ({
  seenAt: new Date(Date.parse(kernelFault().seenAt) + seconds * 1000).toISOString(),
});

describe('a kernel line that the agent and a log store report', () => {
  it.each<[string, Fault, Fault]>([
    ['has the same time of the kernel, however much later one of them saw it', byAgent(), shipped(later(3000))],
    ['has the same text within seconds where the store does not show that time', byAgent(), untimed(later(9))],
    ['names no device', byAgent({ device: '' }), shipped({ device: '' })],
  ])('is one fault when it %s', (_, one, other) => {
    expect([isSameKernelLine(one, other), isSameKernelLine(other, one)]).toEqual([true, true]);
  });

  it.each<[string, Fault, Fault]>([
    ['times of the kernel differ', byAgent(), shipped({ kernelUs: us + 1 })],
    ['codes differ', byAgent(), shipped({ code: 'xid/48' })],
    ['devices differ', byAgent(), shipped({ device: '0000:9b:00' })],
    ['nodes differ', byAgent(), shipped({ node: 'gpu-4' })],
    ['texts differ and the store shows no time', byAgent(), untimed({ message: 'x' })],
    ['they were seen far apart and the store shows no time', byAgent(), untimed(later(11))],
    ['both come from agents, whose positions tell lines apart', byAgent(), byAgent({ id: 'kernel/boot-1/101' })],
    ['both come from the store', shipped(), shipped({ id: 'kernel/loki/2' })],
    ['another source has the same code and text', byAgent(), shipped({ source: 'link' })],
    ['a time cannot be read', byAgent({ seenAt: 'soon' }), untimed()],
  ])('is two faults when %s', (_, one, other) => {
    expect([isSameKernelLine(one, other), isSameKernelLine(other, one)]).toEqual([false, false]);
  });
});

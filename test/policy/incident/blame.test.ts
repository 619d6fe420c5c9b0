import { describe, expect, it } from '@jest/globals';
import type { Blame, Fault } from '../../../contract/faults/faults.ts';
import { blameOf } from '../../../policy/incident/blame.ts';
import { kernelFault, podFault } from '../../support/builders.ts';

const fault = (more: Partial<Fault>): Fault => ({
  id: 'f',
  source: 'kernel',
  code: 'kernel/peermem',
  message: 'm',
  seenAt: '2026-11-21T07:09:03Z',
  ...more,
});
const notReady = fault({ id: 'n', source: 'node', code: 'node/not-ready' });
const asked = fault({ id: 'o', source: 'operator', code: 'operator/recover' });

describe('the blame of faults', () => {
  it.each<[string, readonly Fault[], Blame]>([
    [
      'a GPU that must be reset blames the hardware',
      [kernelFault({ code: 'xid/48', action: 'reset-gpu' })],
      'hardware',
    ],
    [
      'an IMEX domain to recover blames the platform',
      [kernelFault({ code: 'xid/154', action: 'restart-app' })],
      'platform',
    ],
    ['a node that must be rebooted blames the hardware', [kernelFault()], 'hardware'],
    ['what only its maker can judge blames the hardware', [kernelFault({ action: 'contact-support' })], 'hardware'],
    ['a switch blames the hardware', [kernelFault({ code: 'sxid/20034', action: 'reboot' })], 'hardware'],
    [
      'a node that failed its tests blames the hardware',
      [fault({ source: 'preflight', code: 'preflight/slow-node' })],
      'hardware',
    ],
    [
      'a node whose GPUs failed their check blames the hardware',
      [fault({ source: 'preflight', code: 'preflight/gpu-check' })],
      'hardware',
    ],
    [
      'a node whose storage failed its check blames the platform',
      [fault({ source: 'preflight', code: 'preflight/storage-check' })],
      'platform',
    ],
    [
      'an error that needs the application restarted blames the user',
      [kernelFault({ code: 'xid/13', action: 'restart-app' })],
      'user',
    ],
    ['a harmless line has unknown blame', [kernelFault({ action: 'ignore' })], 'unknown'],
    ['a line without an action has unknown blame', [fault({})], 'unknown'],
    ['a node that is not ready blames the platform', [notReady], 'platform'],
    ['an eviction blames the platform', [podFault({ code: 'pod/evicted' })], 'platform'],
    ['a preemption blames the platform', [podFault({ code: 'pod/disruption' })], 'platform'],
    ['a container that exits blames the user', [podFault()], 'user'],
    ['a container that takes too much memory blames the user', [podFault({ code: 'pod/oom-killed' })], 'user'],
    ['an init container that exits blames the user', [podFault({ code: 'pod/init-exit' })], 'user'],
    ['a container that could not be started has unknown blame', [podFault({ code: 'pod/cannot-run' })], 'unknown'],
    [
      'a container on a node that cannot be observed has unknown blame',
      [podFault({ unobservable: 'the agent is silent' })],
      'unknown',
    ],
    ['a request has unknown blame', [asked], 'unknown'],
    ['no fault has unknown blame', [], 'unknown'],
    [
      'the hardware explains what the platform and the containers did',
      [podFault(), notReady, kernelFault()],
      'hardware',
    ],
    ['the platform explains what the containers did', [podFault(), podFault({ code: 'pod/evicted' })], 'platform'],
    ['a person who asks does not take the blame from the user', [asked, podFault()], 'user'],
  ])('%s', (_, faults, blame) => {
    expect(blameOf(faults)).toBe(blame);
    expect(blameOf(faults.toReversed())).toBe(blame);
  });
});

import type { HookRequest } from '../../contract/remedy/remedy.ts';

/** A run of a hook for tests, with the fields that a test overrides. */
export const hookRequest = (more: Partial<HookRequest> = {}): HookRequest => ({
  hook: 'reset',
  node: 'gpu-3',
  uid: 'node-3',
  systemUuid: 'machine-3',
  incident: 'node/gpu-3/2026-11-21T07:09:03.117Z',
  operation: 'op-1',
  codes: ['xid/79'],
  devices: ['0000:5d:00'],
  timeoutMs: 30_000,
  ...more,
});

import type { Write } from '../../testbed/audit.ts';

/** A write of kcover's worker, as the audit log has it. */
export const write = (more: Partial<Write> = {}): Write => ({
  at: new Date(0),
  user: 'system:serviceaccount:kcover-system:kcover-worker',
  verb: 'patch',
  resource: 'nodes',
  subresource: undefined,
  namespace: undefined,
  name: 'gpu-1',
  uid: undefined,
  deleted: [],
  deletedPods: [],
  body: undefined,
  code: 200,
  requestURI: '/api/v1/nodes/gpu-1',
  userAgent: undefined,
  ...more,
});

/** Reports as a preflight container writes them. */

export type Raw = Readonly<Record<string, unknown>>;

/** A round that measured 93.75 GiB/s. */
export const rawBatch = (more: Raw = {}): Raw => ({
  batch_idx: 0,
  pair: ['10.0.0.1', '10.0.0.2'],
  self_ip: '10.0.0.1',
  status: 'ok',
  allreduce_ms: 20,
  world_size: 16,
  allreduce_shape: 268_435_456,
  dtype_bytes: 4,
  ...more,
});

export const rawReport = (more: Raw = {}): Raw => ({
  version: 1,
  workload: 'llm',
  workload_size: 4,
  rank: 0,
  node_name: 'gpu-0',
  node_ip: '10.0.0.1',
  gpu_check: 1,
  storage_check: 1,
  node_check_busbw_threshold_gbps: '5',
  batches: [rawBatch()],
  ...more,
});

/** Without one field. */
export const without = (raw: Raw, name: string): Raw =>
  Object.fromEntries(Object.entries(raw).filter(([key]) => key !== name));

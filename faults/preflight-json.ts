/** Fields that the reference project decodes as integers: it refuses `4.0` and `4e0`, which `JSON.parse` would take for 4. */
const integers = new Set(['version', 'workload_size', 'rank', 'gpu_check', 'storage_check']);

/** The JSON value of a text that holds reports. A number that is no integer by its spelling, where one must be, stays text. Throws as `JSON.parse`. */
export function parseReportJson(text: string): unknown {
  return JSON.parse(text, (key, value: unknown, context?: { readonly source?: string }) => {
    const { source } = context ?? {};
    return typeof value === 'number' && source !== undefined && integers.has(key) && !/^-?\d+$/.test(source) ? source : value;
  });
}

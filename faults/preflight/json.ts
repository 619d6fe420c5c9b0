/** Fields that the reference project decodes as integers: it refuses `4.0` and `4e0`, which `JSON.parse` would read as 4. */
const integers = new Set(['version', 'workload_size', 'rank', 'gpu_check', 'storage_check']);

/** Parses JSON with reports. In an integer field, a number that is not spelled as an integer stays text. Throws as `JSON.parse`. */
export function parseReportJson(text: string): unknown {
  return JSON.parse(text, (key, value: unknown, context?: { readonly source?: string }) => {
    const { source } = context ?? {};
    return typeof value === 'number' && source !== undefined && integers.has(key) && !/^-?\d+$/.test(source)
      ? source
      : value;
  });
}

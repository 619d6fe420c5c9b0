/** Members of JSON of unknown content. */

export type Fields = Readonly<Record<string, unknown>>;

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

export const textOf = (value: unknown, most = 200): string => (typeof value === 'string' ? value.slice(0, most) : '');

/** Undefined when it is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Codes that MindCluster joins by commas; those of no usable form are left out. */
export const codesIn = (text: string): readonly string[] =>
  text
    .split(',')
    .slice(0, 32)
    .map((code) => code.trim().replace(/^0x/i, ''))
    .filter((code) => /^[\w-]{1,40}$/.test(code));

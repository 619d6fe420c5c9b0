/** The CheckCode of a ConfigMap of MindCluster: SHA-256 of the content as Go's encoding/json writes it. */

/** Of UTF-8 text, in lower-case hexadecimal digits. */
export type Sha256 = (text: string) => string;

/** Members stay in the order in which they are written; the keys of Go's maps are sorted there already. */
export const goJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

export function isIntact(content: unknown, checkCode: unknown, sha256: Sha256): boolean {
  if (typeof checkCode !== 'string' || content === undefined) return false;
  try {
    return sha256(goJson(content)) === checkCode.toLowerCase();
  } catch (error) {
    // Nested more deeply than anything that MindCluster writes.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

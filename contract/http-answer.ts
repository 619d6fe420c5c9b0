/** What is read of an answer over HTTP whose sender is not trusted. */

/** Body as text; undefined when it is larger than `most` bytes. */
export async function boundedText(response: Response, most: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    // Leaving the loop cancels the rest.
    if (size > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Why a request failed. The connection's own error is the cause of the error of `fetch`; `code` is for example `ECONNREFUSED`. */
export function requestFailure(error: unknown): { readonly code: string; readonly message: string } {
  const { cause, message } = Object(error) as { readonly cause?: unknown; readonly message?: unknown };
  const inner = Object(cause) as { readonly code?: unknown; readonly message?: unknown };
  const given = [inner.message, inner.code, message].find(
    (text): text is string => typeof text === 'string' && text !== '',
  );
  return { code: String(inner.code), message: given ?? 'the request failed' };
}

/** Pages of lists. The writer of an object decides its size, so a page that is too large is requested again with fewer objects. */

import type { KubernetesListObject, KubernetesObject } from '@kubernetes/client-node';
import type { Response } from 'undici';

/** Objects in a page, the most first. A page of one object is always read. */
const sizes = [500, 20, 1] as const;

/** Bytes of a page: pods and nodes of usual size need a third of it. */
const mostBytes = 32 * 1024 * 1024;

/** Reads the pages of one list, one after the other. */
export class PageReader {
  /** A list that has had too large a page goes on in smaller ones. */
  #sizes: readonly number[] = sizes;

  /** `open`: requests at most so many objects; an answer without an error, or undefined when there is no list. */
  async read<T extends KubernetesObject>(
    open: (limit: string) => Promise<Response | undefined>,
  ): Promise<KubernetesListObject<T> | undefined> {
    for (;;) {
      const [size = 1, ...smaller] = this.#sizes;
      const response = await open(String(size));
      if (!response) return undefined;
      const text = await textWithin(response, smaller.length > 0 ? mostBytes : Infinity);
      if (text !== undefined) return JSON.parse(text) as KubernetesListObject<T>;
      this.#sizes = smaller;
    }
  }
}

/** Undefined when the body is larger; the rest of it is not received then. */
async function textWithin({ body }: Response, most: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.byteLength;
    if (length > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

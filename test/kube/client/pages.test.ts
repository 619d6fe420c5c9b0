import { describe, expect, it } from '@jest/globals';
import { Response } from 'undici';
import { PageReader } from '../../../kube/client/pages.ts';

const MiB = 1024 * 1024;

/** A list of objects of this size, as an API server sends it in chunks; counts what is received of each page. */
function listOf(objects: number, bytes: number) {
  const received: { readonly limit: number; mebibytes: number }[] = [];
  const padding = new Uint8Array(bytes).fill('a'.charCodeAt(0));
  const open = (limit: string): Promise<Response> => {
    const page = { limit: Number(limit), mebibytes: 0 };
    received.push(page);
    const sent = function* () {
      for (let each = 0; each < Math.min(objects, page.limit); each++) {
        yield Buffer.from(`${each === 0 ? '{"items":[' : ','}{"padding":"`);
        page.mebibytes += bytes / MiB;
        yield padding;
        yield Buffer.from('"}');
      }
      yield Buffer.from(']}');
    };
    return Promise.resolve(new Response(ReadableStream.from(sent())));
  };
  return { open, received };
}

describe('pages of a list', () => {
  it('have 500 objects, where these are not large', async () => {
    const { open, received } = listOf(500, 1024);
    expect((await new PageReader().read(open))?.items).toHaveLength(500);
    expect(received.map(({ limit }) => limit)).toEqual([500]);
  });

  it('are requested again with fewer objects where they are large, and are never received whole', async () => {
    const { open, received } = listOf(500, MiB);
    const pages = new PageReader();
    expect((await pages.read(open))?.items).toHaveLength(20);
    expect(received.map(({ limit }) => limit)).toEqual([500, 20]);
    expect(received[0]?.mebibytes).toBeLessThan(40);
    // The next page of the same list.
    await pages.read(open);
    expect(received.map(({ limit }) => limit)).toEqual([500, 20, 20]);
  });

  it('have one object where a few are too large, and that one is read', async () => {
    const { open, received } = listOf(20, 40 * MiB);
    expect((await new PageReader().read(open))?.items).toHaveLength(1);
    expect(received.map(({ limit }) => limit)).toEqual([500, 20, 1]);
  });

  it('are undefined where there is no list', async () => {
    expect(await new PageReader().read(() => Promise.resolve(undefined))).toBeUndefined();
  });
});

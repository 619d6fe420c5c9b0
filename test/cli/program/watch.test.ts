import { describe, expect, it } from '@jest/globals';
import { KcoverError } from '../../../contract/errors.ts';
import type { CommandOutput, OutputFormat, WatchedItem } from '../../../cli/program/command.ts';
import { fitted, openScreen } from '../../../cli/program/screen.ts';
import { changes, type Look, watch } from '../../../cli/program/watch.ts';

const at = Date.parse('2026-11-21T07:09:13Z');
const down = new KcoverError('kube.unreachable', 'GET /api/v1/nodes: no answer');

const node = (about: string, phase: string): WatchedItem => ({ about, line: `${about}   ${phase}`, data: { phase } });
const found = (...items: readonly WatchedItem[]): Look => ({
  output: { data: null, text: items.map(({ line }) => line).join('\n'), items },
});

/** What a pipe gets from these looks, by look. */
async function piped(format: OutputFormat, ...looks: readonly Look[]): Promise<string[]> {
  let written = '';
  const show = changes(format, (text) => {
    written += text;
    return Promise.resolve();
  });
  const pieces: string[] = [];
  for (const look of looks) {
    await show(look, at);
    pieces.push(written);
    written = '';
  }
  return pieces;
}

describe('--watch in a pipe', () => {
  it('prints a line for each change, and nothing for a look that found none', async () => {
    expect(
      await piped(
        'table',
        found(node('gpu-1', 'quarantined'), node('gpu-2', 'watching')),
        found(node('gpu-1', 'quarantined'), node('gpu-2', 'watching')),
        found(node('gpu-1', 'quarantined'), node('gpu-2', 'quarantined')),
        found(node('gpu-1', 'quarantined')),
      ),
    ).toEqual([
      '07:09:13   gpu-1   quarantined\n07:09:13   gpu-2   watching\n',
      '',
      '07:09:13   gpu-2   quarantined\n',
      '07:09:13   gpu-2   no longer listed\n',
    ]);
  });

  it('prints a JSON document on one line for each change', async () => {
    const [first = '', second = '', third = ''] = await piped(
      'json',
      found(node('gpu-1', 'watching'), node('gpu-2', 'watching')),
      found(node('gpu-1', 'quarantined'), node('gpu-2', 'watching')),
      found(node('gpu-2', 'watching')),
    );
    const about = { at: '2026-11-21T07:09:13.000Z', about: 'gpu-1' };
    expect(first.split('\n')).toHaveLength(3);
    expect(JSON.parse(second)).toEqual({ ...about, change: 'changed', data: { phase: 'quarantined' } });
    expect(JSON.parse(third)).toEqual({ ...about, change: 'gone', data: null });
  });

  it('prints a YAML document for each change', async () => {
    const [text] = await piped('yaml', found(node('gpu-1', 'watching')));
    expect(text).toBe('---\nat: 2026-11-21T07:09:13.000Z\nchange: new\nabout: gpu-1\ndata:\n  phase: watching\n');
  });

  it('prints a failed look once, and the first answer after it', async () => {
    const looks = [found(node('gpu-1', 'watching')), { failure: down }, { failure: down }];
    expect(await piped('table', ...looks, found(node('gpu-1', 'watching')))).toEqual([
      '07:09:13   gpu-1   watching\n',
      '07:09:13   error[kube.unreachable]: the Kubernetes API did not answer: GET /api/v1/nodes: no answer\n',
      '',
      '07:09:13   there are answers again\n',
    ]);
    const [failed = ''] = await piped('json', { failure: down });
    expect(JSON.parse(failed)).toMatchObject({
      change: 'failed',
      data: { code: 'kube.unreachable', because: 'GET /api/v1/nodes: no answer' },
    });
  });

  it('prints nothing that a terminal could take for an order', async () => {
    const [text, document] = await Promise.all(
      (['table', 'json'] as const).map((format) => piped(format, found(node('gpu-1', 'a\u001B[2Jb\nc\u202Ed')))),
    );
    expect(text).toEqual(['07:09:13   gpu-1   ab cd\n']);
    for (const sign of ['\u001B', '\u202E']) expect(document?.[0]).not.toContain(sign);
  });
});

describe('a watch', () => {
  it('outlives failed looks, and ends when it is stopped', async () => {
    const stopping = new AbortController();
    const answers: (() => CommandOutput)[] = [
      () => ({ data: null, text: 'first' }),
      () => {
        throw down;
      },
      () => ({ data: null, text: 'third' }),
    ];
    const seen: string[] = [];
    await watch(
      () => Promise.resolve().then(() => answers[seen.length]?.() ?? { data: null, text: 'too many' }),
      (look) => {
        seen.push('failure' in look ? look.failure.code : look.output.text);
        if (seen.length === answers.length) stopping.abort();
      },
      stopping.signal,
    );
    expect(seen).toEqual(['first', 'kube.unreachable', 'third']);
  });

  it('ends with an error that no later look can cure', async () => {
    const gone = new KcoverError('not-found', 'there is no pytorchjob llm');
    const watched = watch(
      () => Promise.reject(gone),
      () => undefined,
      new AbortController().signal,
    );
    await expect(watched).rejects.toBe(gone);
  });

  it('does not wait for an answer that is pending when it is stopped', async () => {
    const stopping = new AbortController();
    const never = new Promise<never>(() => undefined);
    const watched = watch(
      () => never,
      () => undefined,
      stopping.signal,
    );
    stopping.abort();
    await expect(watched).resolves.toBeUndefined();
  });
});

describe('--watch on a terminal', () => {
  const terminalOf = (columns: number, rows: number) => {
    const writes: string[] = [];
    let redraw = (): void => undefined;
    const size = { columns, rows };
    return {
      writes,
      resize(to: Partial<typeof size>) {
        Object.assign(size, to);
        redraw();
      },
      terminal: {
        write: (text: string) => writes.push(text),
        size: () => size,
        onResize(draw: () => void) {
          redraw = draw;
          return () => (redraw = () => undefined);
        },
      },
    };
  };
  const same = (text: string): string => text;

  it('draws each view with one write, from the top, and clears what is left of the last one', () => {
    const { terminal, writes } = terminalOf(60, 10);
    const { show } = openScreen(terminal, same);
    writes.splice(0);
    void show(found(node('gpu-1', 'watching'), node('gpu-2', 'watching')), at);
    void show(found(node('gpu-1', 'quarantined')), at);
    expect(writes).toHaveLength(2);
    expect(writes[1]).toBe(
      '\u001B[H07:09:13   looks again every 2s; Ctrl-C ends it\u001B[K\r\n\u001B[K\r\ngpu-1   quarantined\u001B[K\u001B[J',
    );
  });

  it('keeps the last view while looks fail, and says why and since when', () => {
    const { terminal, writes } = terminalOf(200, 10);
    const { show } = openScreen(terminal, same);
    void show(found(node('gpu-1', 'watching')), at);
    void show({ failure: down }, at + 60_000);
    expect(writes.at(-1)).toContain('07:10:13   error[kube.unreachable]: the Kubernetes API did not answer');
    expect(writes.at(-1)).toContain('what follows was seen at 07:09:13');
    expect(writes.at(-1)).toContain('gpu-1   watching');
  });

  it('draws the view again when the size changes, and no longer once it is closed', () => {
    const { terminal, writes, resize } = terminalOf(200, 10);
    const screen = openScreen(terminal, same);
    void screen.show(found(node('gpu-1', 'watching'), node('gpu-2', 'watching')), at);
    writes.splice(0);
    resize({ rows: 3 });
    expect(writes).toEqual([expect.stringContaining('... 2 more lines')]);
    screen.close();
    resize({ rows: 4 });
    expect(writes).toHaveLength(2);
    // Wrapping, the cursor and the screen of before; the last view stays.
    expect(writes[1]).toBe('\u001B[?7h\u001B[?25h\u001B[?1049lgpu-1   watching\ngpu-2   watching\n');
  });

  it('cuts rows for the width, and takes orders to the terminal out of them', () => {
    expect(fitted('abcdefgh\ni\tj', 5, 9)).toEqual(['abcd', 'efgh', 'i j']);
    expect(fitted('a\u001B[2Jb\u001B]0;title\u0007c', 80, 9)).toEqual(['abc']);
    expect(fitted('', 80, 9)).toEqual(['']);
  });
});

/**
 * Answers range queries as Loki does, from lines in memory. Sources of its rules:
 *
 * - `start <= t < end`, limit over all streams, direction, default limit 100, streams in any order: HTTP API of Loki, `query_range`
 * - same stream, time and line are stored once: documentation of `unordered_writes`, and the push API
 * - 400 `max entries limit per query exceeded`: `validateMaxEntriesLimits` in `pkg/querier/queryrange`
 * - structured metadata in the third element with `categorize-labels`, merged into the stream without: `pkg/util/marshal`
 * - 401 `no org id`: `dskit/user`; 429 `too many outstanding requests`: the query frontend; 504: the time-out of the querier
 *
 * It selects every line: the language of queries is not played.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StoredLine {
  readonly at: bigint;
  readonly line: string;
  readonly stream: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface LokiServer {
  readonly url: string;
  /** Queries so far. */
  readonly asked: { readonly query: string; readonly start: bigint; readonly end: bigint; readonly limit: number }[];
  readonly headers: IncomingMessage['headers'][];
  push(...lines: readonly StoredLine[]): void;
  /** The next requests are answered so. */
  fail(...answers: readonly { readonly status: number; readonly text: string }[]): void;
  /** Every request of the next `ms` is answered with 429 and when to come again. */
  limitFor(ms: number, form: 'seconds' | 'date'): void;
  /** Requests that were answered so. */
  readonly limited: () => number;
  close(): Promise<void>;
}

const mostEntries = 5000;

export async function startLokiServer({ tenant }: { readonly tenant?: string } = {}): Promise<LokiServer> {
  const stored = new Map<string, StoredLine>();
  const asked: { query: string; start: bigint; end: bigint; limit: number }[] = [];
  const headers: IncomingMessage['headers'][] = [];
  let limit = { until: 0, form: 'seconds' };
  let limited = 0;
  const failures: { readonly status: number; readonly text: string }[] = [];

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const say = (status: number, text: string) => void response.writeHead(status).end(text);
    headers.push(request.headers);
    const url = new URL(request.url ?? '', 'http://loki');
    if (url.pathname !== '/loki/api/v1/query_range') return say(404, '404 page not found');
    const failure = failures.shift();
    if (failure) return say(failure.status, failure.text);
    const remaining = limit.until - Date.now();
    if (remaining > 0) {
      limited += 1;
      // Both forms have whole seconds.
      const date = new Date(Math.ceil(limit.until / 1000) * 1000).toUTCString();
      response.setHeader('retry-after', limit.form === 'date' ? date : Math.ceil(remaining / 1000));
      return say(429, 'too many outstanding requests');
    }
    if (tenant !== undefined && request.headers['x-scope-orgid'] !== tenant) return say(401, 'no org id\n');
    const value = (name: string, byDefault: string) => url.searchParams.get(name) ?? byDefault;
    const [start, end, most] = [BigInt(value('start', '0')), BigInt(value('end', '0')), Number(value('limit', '100'))];
    asked.push({ query: value('query', ''), start, end, limit: most });
    if (most > mostEntries)
      return say(400, `max entries limit per query exceeded, limit > max_entries_limit (${most} > ${mostEntries})`);
    const isForward = value('direction', 'backward') === 'forward';
    const found = [...stored.values()]
      .filter(({ at }) => start <= at && at < end)
      .toSorted((a, b) => Number(a.at - b.at) * (isForward ? 1 : -1))
      .slice(0, most);
    const categorised = request.headers['x-loki-response-encoding-flags'] === 'categorize-labels';
    const body = JSON.stringify({
      status: 'success',
      data: { resultType: 'streams', ...streamsOf(found, categorised) },
    });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  }

  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    headers,
    push: (...lines) => lines.forEach((line) => stored.set(`${keyOf(line.stream)} ${line.at} ${line.line}`, line)),
    limitFor: (ms, form) => void (limit = { until: Date.now() + ms, form }),
    limited: () => limited,
    fail: (...answers) => void failures.push(...answers),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

const keyOf = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => a.localeCompare(b)));

function streamsOf(lines: readonly StoredLine[], categorised: boolean): object {
  const streams = Map.groupBy(lines, ({ stream, metadata }) =>
    categorised ? keyOf(stream) : keyOf({ ...stream, ...metadata }),
  );
  const result = [...streams.values()].map((some) => ({
    stream: categorised ? some[0]?.stream : { ...some[0]?.stream, ...some[0]?.metadata },
    values: some.map(({ at, line, metadata }) =>
      categorised ? [`${at}`, line, metadata ? { structuredMetadata: metadata } : {}] : [`${at}`, line],
    ),
  }));
  return categorised ? { encodingFlags: ['categorize-labels'], result } : { result };
}

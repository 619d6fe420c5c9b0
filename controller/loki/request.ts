/** One range query to Loki over HTTP. Source: the HTTP API of Loki, `GET /loki/api/v1/query_range`. */

import { readFile } from 'node:fs/promises';
import { KcoverError } from '../../contract/errors.ts';
import { boundedText, requestFailure } from '../../contract/http-answer.ts';
import { retryAfterMs } from '../../contract/retry-after.ts';
import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { readAnswer } from './answer.ts';
import type { Ask } from './pages.ts';

export type LokiSettings = ControllerSettings['loki'];

/** 5000 kernel lines are below 2 MiB. */
const mostBytes = 16 * 1024 * 1024;
const mostErrorBytes = 4096;

/** Longest wait that is accepted from `Retry-After`, ms; less where lines would become too old to be read meanwhile. */
const longestRetryAfterMs = 5 * 60_000;

const unavailable = (because: string, more: { readonly remedy?: string; readonly retryAfterMs?: number } = {}) =>
  new KcoverError('loki.unavailable', because, more);

/** Why a request was refused; a 429 and a time-out pass by themselves. */
const remedies: Readonly<Record<number, string>> = {
  400: 'correct the query, or lower loki.page below max_entries_limit_per_query of Loki',
  401: 'set loki.tenant, or loki.tokenFile where a gateway asks for a token',
  403: 'let this token read this tenant',
  404: 'set loki.url to the address below which /loki/api/v1 is found',
};

/** Asks for one query. Throws `loki.unavailable`. */
export function lokiRequest(settings: LokiSettings, query: string, ended: AbortSignal): Ask {
  return async ({ start, end, limit }) => {
    const url = new URL(`${settings.url?.replace(/\/$/, '')}/loki/api/v1/query_range`);
    url.search = new URLSearchParams({
      query,
      start: `${start}`,
      end: `${end}`,
      limit: `${limit}`,
      direction: 'forward',
    }).toString();
    const deadline = AbortSignal.timeout(settings.timeout);
    const signal = AbortSignal.any([ended, deadline]);
    try {
      // A redirect could carry the token to another host.
      const response = await fetch(url, { headers: await headersOf(settings), redirect: 'error', signal });
      if (response.status !== 200) throw await refusalOf(response, Math.min(longestRetryAfterMs, settings.oldest / 2));
      const text = await boundedText(response, mostBytes);
      if (text === undefined) return 'too-large';
      const lines = readAnswer(text);
      if ('unusable' in lines) throw unavailable(lines.unusable);
      return lines;
    } catch (error) {
      if (error instanceof KcoverError) throw error;
      throw unavailable(
        deadline.aborted ? 'no answer in loki.timeout' : foreignText(requestFailure(error).message, 300),
      );
    }
  };
}

async function headersOf({ tenant, tokenFile }: LokiSettings): Promise<Record<string, string>> {
  const headers: Record<string, string> = { 'X-Loki-Response-Encoding-Flags': 'categorize-labels' };
  if (tenant !== undefined) headers['X-Scope-OrgID'] = tenant;
  // Read each time: a mounted token is rotated.
  if (tokenFile !== undefined) headers['Authorization'] = `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}`;
  return headers;
}

async function refusalOf(response: Response, longestWaitMs: number): Promise<KcoverError> {
  const text = foreignText((await boundedText(response, mostErrorBytes)) ?? '', 300);
  const remedy = remedies[response.status];
  const asked = { value: response.headers.get('retry-after'), date: response.headers.get('date') };
  const wait = retryAfterMs(asked, longestWaitMs);
  return unavailable(`HTTP ${response.status}${text === '' ? '' : `: ${text}`}`, {
    ...(remedy !== undefined && { remedy }),
    ...(wait !== undefined && { retryAfterMs: wait }),
  });
}

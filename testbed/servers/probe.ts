import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';

/** Calls a health endpoint; returns what is wrong, or undefined when it answers 200. */
export function probe(url: string, headers: Record<string, string> = {}): Promise<string | undefined> {
  return new Promise((resolve) => {
    const get = url.startsWith('https:') ? httpsGet : httpGet;
    // The servers are our own, on loopback, with certificates that they have just created.
    const request = get(url, { headers, agent: false, timeout: 2000, rejectUnauthorized: false }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.on('error', (error) => resolve(error.message));
      response.on('end', () =>
        resolve(
          response.statusCode === 200 ? undefined : `${url} answered ${response.statusCode}: ${body.slice(0, 300)}`,
        ),
      );
    });
    request.once('timeout', () => request.destroy(new Error(`${url} did not answer`)));
    request.once('error', (error) => resolve(error.message));
  });
}

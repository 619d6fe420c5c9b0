/** An HTTPS server with the endpoints of the controller, and the answers that a test sets. */

import { createServer } from 'node:https';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { type PreflightFileAnswer, preflightPath, type PreflightFiles } from '../../contract/preflight/files.ts';
import { reportBatch } from '../../contract/wire/reports.schema.ts';
import { reportBodyLimit, type ReportBatch, reportPath } from '../../contract/wire/reports.ts';

export interface ReceivedRequest {
  readonly batch: ReportBatch;
  readonly authorization: string | undefined;
  readonly bytes: number;
  readonly at: number;
}
/** Status and body of an answer; undefined accepts everything. `silent`: no answer. */
export type Answering = (
  request: ReceivedRequest,
) => { readonly status: number; readonly body?: unknown; readonly retryAfter?: string } | 'silent' | undefined;

/** Answers for preflight files. */
export type AnsweringFiles = (files: PreflightFiles) => readonly PreflightFileAnswer[];

export interface HttpsController {
  readonly url: string;
  readonly caFile: string;
  readonly tokenFile: string;
  readonly requests: readonly ReceivedRequest[];
  readonly preflight: readonly { readonly files: PreflightFiles; readonly authorization: string | undefined }[];
  /** TLS connections that were opened. */
  connections(): number;
  answer(answering: Answering): void;
  answerFiles(answering: AnsweringFiles): void;
  close(): Promise<void>;
}

async function certificate(): Promise<{ key: string; cert: string }> {
  const pems = await generate([{ name: 'commonName', value: 'localhost' }], {
    algorithm: 'sha256',
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { key: pems.private, cert: pems.cert };
}

export async function startHttpsController(): Promise<HttpsController> {
  const directory = await mkdtemp(join(tmpdir(), 'kcover-controller-'));
  const { key, cert } = await certificate();
  const caFile = join(directory, 'ca.crt');
  const tokenFile = join(directory, 'token');
  await Promise.all([writeFile(caFile, cert), writeFile(tokenFile, 'token-1\n')]);
  const requests: ReceivedRequest[] = [];
  let connections = 0;
  let answering: Answering = () => undefined;
  const preflight: { files: PreflightFiles; authorization: string | undefined }[] = [];
  let answeringFiles: AnsweringFiles = ({ files }) => files.map(() => ({ answer: 'accepted' }));

  const server = createServer({ key, cert }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const json = JSON.parse(body.toString());
      const reply = (status: number, answer: unknown, headers = {}) =>
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(answer));
      if (request.method === 'POST' && request.url === preflightPath) {
        preflight.push({ files: json, authorization: request.headers.authorization });
        return reply(200, { files: answeringFiles(json) });
      }
      if (request.method !== 'POST' || request.url !== reportPath) return reply(404, {});
      const parsed = reportBatch.safeParse(json);
      if (!parsed.success) return reply(400, { error: 'malformed' });
      const batch: ReportBatch = parsed.data;
      const seen = { batch, authorization: request.headers.authorization, bytes: body.length, at: performance.now() };
      requests.push(seen);
      const answer = answering(seen);
      if (answer === 'silent') return undefined;
      if (body.length > reportBodyLimit) return reply(413, { error: 'too-large' });
      return reply(
        answer?.status ?? 202,
        answer?.body ?? { accepted: batch.reports.at(-1)?.seq ?? 0 },
        answer?.retryAfter === undefined ? {} : { 'retry-after': answer.retryAfter },
      );
    });
  });
  server.on('secureConnection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `https://localhost:${port}`,
    caFile,
    tokenFile,
    requests,
    preflight,
    connections: () => connections,
    answer(next) {
      answering = next;
    },
    answerFiles(next) {
      answeringFiles = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

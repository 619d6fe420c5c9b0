/** A proxy between kcover's roles and the real API server that injects faults. */

import { readFileSync } from 'node:fs';
import { Agent, createServer, request, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { loopbackCertificate } from './certificate.ts';
import type { ApiAddress } from './kubeconfig.ts';

/** Faults of a request, in the order in which they are tried. */
export const apiFaults = [
  'cut before',
  'cut after',
  'hang',
  'conflict',
  'too many requests',
  'server error',
  'cut watch',
] as const;
/**
 * - `cut before`: the connection dies before the server has the request
 * - `cut after`: the server has executed the request, and the response is lost
 * - `hang`: no response, and the connection stays open; half of the requests were executed all the same
 * - `conflict`, `too many requests` (Retry-After), `server error`: 409 for changes of existing objects, 429 and 500 for any request; nothing was
 * executed
 * - `cut watch`: an open watch is cut within two seconds, possibly in the middle of an event
 */
export type ApiFault = (typeof apiFaults)[number];
/** Probability of each fault for one request, from 0 to 1; 0 for a fault that is not named. */
export type ApiFaultProfile = Readonly<Partial<Record<ApiFault, number>>>;

export interface ApiProxy extends ApiAddress {
  /** Replaces the fault profile. `only`: other requests pass unchanged. */
  setFaultProfile(faultProfile: ApiFaultProfile, only?: (incoming: IncomingMessage) => boolean): void;
  /** Ends every open watch, as a server that restarts does. */
  cutWatches(): void;
  /** How often each fault was injected. */
  readonly injected: Readonly<Record<ApiFault, number>>;
  close(): Promise<void>;
}

export interface ApiProxyOptions {
  /** The real server. */
  readonly to: ApiAddress;
  readonly port: number;
  /** Where it keeps its certificate. */
  readonly directory: string;
  /** Random numbers from 0 up to 1. */
  readonly draw?: () => number;
}

/** Longer than any deadline of a call. */
const hangsForMs = 60_000;
const watchIsCutWithinMs = 2000;

export async function openApiProxy({ to, port, directory, draw = Math.random }: ApiProxyOptions): Promise<ApiProxy> {
  const { certFile, keyFile } = await loopbackCertificate(directory);
  const agent = new Agent({ keepAlive: true, ca: readFileSync(to.authority) });
  const injected = Object.fromEntries(apiFaults.map((fault) => [fault, 0])) as Record<ApiFault, number>;
  const watches = new Set<Socket>();
  let faultProfile: ApiFaultProfile = {};
  let isMeant: (incoming: IncomingMessage) => boolean = () => true;

  const drawFault = (incoming: IncomingMessage): ApiFault | undefined => {
    const can = canAffect(incoming);
    if (!isMeant(incoming)) return undefined;
    const fault = apiFaults.find((each) => draw() < (faultProfile[each] ?? 0) && can(each));
    if (fault) injected[fault] += 1;
    return fault;
  };

  const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (incoming, outgoing) => {
    const fault = drawFault(incoming);
    const { socket } = incoming;
    outgoing.on('error', () => socket.destroy());
    const forward = (onAnswer: (answer: IncomingMessage) => void): void => {
      const { method, url, headers } = incoming;
      const onward = request(new URL(url ?? '/', to.server), { method, headers, agent }, onAnswer);
      onward.on('error', () => socket.destroy());
      // The client has gone, so the request to the server is ended too.
      outgoing.on('close', () => onward.destroy());
      incoming.pipe(onward);
    };
    const pass = (answer: IncomingMessage): void => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      answer.on('error', () => socket.destroy());
      answer.pipe(outgoing);
    };
    if (isWatch(incoming)) {
      watches.add(socket);
      outgoing.on('close', () => watches.delete(socket));
    }
    switch (fault) {
      case undefined:
        return forward(pass);
      case 'cut before':
        return void socket.destroy();
      case 'cut after':
        return forward((answer) => answer.resume().on('close', () => socket.destroy()));
      case 'hang':
        if (draw() < 0.5) forward((answer) => answer.resume());
        return void setTimeout(() => socket.destroy(), hangsForMs).unref();
      case 'cut watch':
        setTimeout(() => socket.destroy(), draw() * watchIsCutWithinMs).unref();
        return forward(pass);
      case 'conflict':
      case 'too many requests':
      case 'server error':
        incoming.resume();
        return refuse(outgoing, answers[fault]);
    }
  });
  await listen(server, port);
  server.unref();

  return {
    server: `https://127.0.0.1:${port}`,
    authority: certFile,
    injected,
    setFaultProfile: (next, only = () => true) => {
      faultProfile = next;
      isMeant = only;
    },
    cutWatches: () => watches.forEach((socket) => socket.destroy()),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        agent.destroy();
      }),
  };
}

const isWatch = ({ url }: IncomingMessage): boolean => /[?&]watch=(true|1)\b/.test(url ?? '');

function canAffect(incoming: IncomingMessage): (fault: ApiFault) => boolean {
  const watch = isWatch(incoming);
  const changes = ['PUT', 'PATCH', 'DELETE'].includes(incoming.method ?? '');
  return (fault) => {
    if (fault === 'cut watch') return watch;
    if (fault === 'conflict') return changes;
    // A watch has no final answer that could be lost.
    return fault !== 'cut after' || !watch;
  };
}

interface ApiRefusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const answers = {
  conflict: {
    code: 409,
    reason: 'Conflict',
    message:
      'Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again',
  },
  'too many requests': {
    code: 429,
    reason: 'TooManyRequests',
    message: 'the server has received too many requests',
    headers: { 'retry-after': '1' },
  },
  'server error': {
    code: 500,
    reason: 'InternalError',
    message: 'Internal error occurred: etcdserver: request timed out',
  },
} as const satisfies Partial<Record<ApiFault, ApiRefusal>>;

function refuse(outgoing: ServerResponse, { code, reason, message, headers }: ApiRefusal): void {
  outgoing.writeHead(code, { 'content-type': 'application/json', ...headers });
  outgoing.end(
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason, message, code }),
  );
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });

/** One HTTPS request to the controller at a time. Token and CA are read anew for each, because both are rotated. */

import { readFile } from 'node:fs/promises';
import { Agent, fetch } from 'undici';
import { type Rejection, rejections, reportPath, type ReportBatch } from '../contract/reports.ts';
import type { AgentSettings } from '../contract/settings.schema.ts';
import { oneLine } from '../faults/one-line.ts';
import { reasonOf } from './system-error.ts';

/** `unreachable`: no answer at all. `unknown`: not an answer of a controller. */
export type Reason = Rejection | 'unreachable' | 'unknown';

/** Why a request was not taken. `because` holds no secret. */
export interface Failure {
  /**
   * `rejected`: this very body will not be taken (400, 413). `denied`: the agent itself is not let in (401, 403), somebody has to look.
   * `unavailable`: try again; not leading, no Temporal, no network.
   */
  readonly kind: 'rejected' | 'denied' | 'unavailable';
  readonly reason: Reason;
  readonly because: string;
}

/** What became of a request. */
export type Answer = { readonly kind: 'accepted'; readonly accepted: number } | Failure;

export interface ControllerConnection {
  post(batch: ReportBatch, signal: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

const timeoutMs = 10_000;
/** The answer is one small object; a server that sends more is not the controller. */
const answerMost = 64 * 1024;

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

const isRejection = (value: unknown): value is Rejection => typeof value === 'string' && Object.hasOwn(rejections, value);

function answerOf(status: number, text: string): Answer {
  const { accepted, error } = parsed(text);
  if (status >= 200 && status < 300 && typeof accepted === 'number' && Number.isSafeInteger(accepted) && accepted >= 0) return { kind: 'accepted', accepted };
  const kind = status === 400 || status === 413 ? 'rejected' : status === 401 || status === 403 ? 'denied' : 'unavailable';
  return { kind, reason: isRejection(error) ? error : 'unknown', because: `the controller answered ${status}: ${oneLine(text, 200)}` };
}

export function connectController({ url, caFile, tokenFile }: AgentSettings['controller'], version: string): ControllerConnection {
  let current: { readonly ca: string; readonly agent: Agent } | undefined;

  async function agentFor(ca: string): Promise<Agent> {
    if (current?.ca !== ca) {
      await drop();
      // Longer than the time between heartbeats: a TLS handshake per node and heartbeat would be most of the controller's work.
      current = { ca, agent: new Agent({ connect: { ca, timeout: timeoutMs }, connections: 1, keepAliveTimeout: 60_000, maxResponseSize: answerMost }) };
    }
    return current.agent;
  }

  async function drop(): Promise<void> {
    const agent = current?.agent;
    current = undefined;
    await agent?.destroy();
  }

  return {
    async post(batch, signal) {
      try {
        const [ca, token] = await Promise.all([readFile(caFile, 'utf8'), readFile(tokenFile, 'utf8')]);
        const response = await fetch(new URL(reportPath, url), {
          method: 'POST',
          headers: { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json', 'user-agent': `kcover-agent/${version}` },
          body: JSON.stringify(batch),
          redirect: 'error',
          signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
          dispatcher: await agentFor(ca),
        });
        const answer = answerOf(response.status, await response.text());
        // A kept connection leads to the same pod for ever; the next one is placed by the Service, which knows the new leader.
        if (answer.kind === 'unavailable') await drop();
        return answer;
      } catch (error) {
        await drop();
        return { kind: 'unavailable', reason: 'unreachable', because: reasonOf(error) };
      }
    },
    close: drop,
  };
}

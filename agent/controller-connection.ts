/** One HTTPS request to the controller at a time. Token and CA are read anew for each, because both are rotated. */

import { readFile } from 'node:fs/promises';
import { Agent, fetch } from 'undici';
import { reportPath, type ReportBatch } from '../contract/reports.ts';
import type { AgentSettings } from '../contract/settings.schema.ts';
import { oneLine } from '../faults/one-line.ts';
import { reasonOf } from './system-error.ts';

/** What became of a request. `because` holds no secret. */
export type Answer =
  | { readonly kind: 'accepted'; readonly accepted: number }
  /** This very body will not be taken (400, 413). */
  | { readonly kind: 'rejected'; readonly because: string }
  /** The agent itself is not let in (401, 403): somebody has to look. */
  | { readonly kind: 'denied'; readonly because: string }
  /** Try again: not leading, no Temporal, no network. */
  | { readonly kind: 'unavailable'; readonly because: string };

export interface ControllerConnection {
  post(batch: ReportBatch, signal: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

const timeoutMs = 10_000;
/** The answer is one small object; a server that sends more is not the controller. */
const answerMost = 64 * 1024;

function acceptedOf(text: string): number | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('accepted' in value)) return undefined;
    return typeof value.accepted === 'number' && Number.isSafeInteger(value.accepted) && value.accepted >= 0 ? value.accepted : undefined;
  } catch {
    return undefined;
  }
}

function answerOf(status: number, text: string): Answer {
  const because = `the controller answered ${status}: ${oneLine(text, 200)}`;
  if (status >= 200 && status < 300) {
    const accepted = acceptedOf(text);
    return accepted === undefined ? { kind: 'unavailable', because } : { kind: 'accepted', accepted };
  }
  if (status === 400 || status === 413) return { kind: 'rejected', because };
  if (status === 401 || status === 403) return { kind: 'denied', because };
  return { kind: 'unavailable', because };
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
        return { kind: 'unavailable', because: reasonOf(error) };
      }
    },
    close: drop,
  };
}

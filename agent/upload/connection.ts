/** HTTPS requests to the controller: at most one at a time each for reports, preflight files, progress files and what logs say. Token and CA are read again for each, because both are rotated. */

import { readFile } from 'node:fs/promises';
import { Agent, fetch } from 'undici';
import type { NodeNotice } from '../../contract/node/notice.ts';
import { nodeNotice } from '../../contract/node/notice.schema.ts';
import { type PreflightFileAnswer, preflightPath, type PreflightFiles } from '../../contract/preflight/files.ts';
import { type LogAnswer, logLimits, logPath, type LogReports, type WantedLog } from '../../contract/progress/logs.ts';
import { wantedLog } from '../../contract/progress/logs.schema.ts';
import { type ProgressAnswer, progressPath, type ProgressFiles } from '../../contract/progress/progress.ts';
import { type RetryAfter, retryAfterMs } from '../../contract/retry-after.ts';
import { type Rejection, rejections, reportPath, type ReportBatch } from '../../contract/wire/reports.ts';
import type { AgentSettings } from '../../contract/settings/settings.schema.ts';
import { oneLine } from '../../contract/text.ts';
import { reasonOf } from '../system-error.ts';

/** `unreachable`: no answer at all. `unknown`: not an answer of a controller. */
export type FailureReason = Rejection | 'unreachable' | 'unknown';

/** Why a request failed. `because` holds no secret. */
export interface Failure {
  /**
   * `rejected`: this body will never be accepted (400, 413). `denied`: the agent is not authorised (401, 403), which an operator has to fix.
   * `unavailable`: try again: not leading, no Temporal, no network, too many requests.
   */
  readonly kind: 'rejected' | 'denied' | 'unavailable';
  readonly reason: FailureReason;
  readonly because: string;
  /** How long the controller asks to wait. */
  readonly retryAfterMs?: number;
}

/** Result of a request. */
export type BatchAnswer =
  | {
      readonly kind: 'accepted';
      readonly accepted: number;
      readonly follow: readonly WantedLog[];
      readonly notice: NodeNotice | undefined;
    }
  | Failure;

/** One answer for each file, in their order. */
export type FilesAnswer = { readonly kind: 'answered'; readonly files: readonly PreflightFileAnswer[] } | Failure;

/** For each file or log, in their order, whether it counted. */
export type CountedAnswer = ({ readonly kind: 'accepted' } & ProgressAnswer & LogAnswer) | Failure;

export interface ControllerConnection {
  post(batch: ReportBatch, signal: AbortSignal): Promise<BatchAnswer>;
  postPreflight(files: PreflightFiles, signal: AbortSignal): Promise<FilesAnswer>;
  postProgress(files: ProgressFiles, signal: AbortSignal): Promise<CountedAnswer>;
  postLogs(logs: LogReports, signal: AbortSignal): Promise<CountedAnswer>;
  /** Connections opened so far: a new one may lead to another controller. */
  opened(): number;
  close(): Promise<void>;
}

const timeoutMs = 10_000;
/** Most bytes of an answer, which is one small object: a server that sends more is not the controller. */
const answerMost = 64 * 1024;

type Body = Readonly<Record<string, unknown>>;

function parsed(text: string): Body {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

const isRejection = (value: unknown): value is Rejection =>
  typeof value === 'string' && Object.hasOwn(rejections, value);

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

const acceptedOf = ({ accepted, follow, node }: Body): BatchAnswer | undefined =>
  isCount(accepted)
    ? { kind: 'accepted', accepted, follow: wantedIn(follow), notice: nodeNotice.safeParse(node).data }
    : undefined;

/** What is no log of this node is left out: its names become a path. */
const wantedIn = (follow: unknown): readonly WantedLog[] =>
  (Array.isArray(follow) ? follow.slice(0, logLimits.perNode) : []).flatMap(
    (each: unknown) => wantedLog.safeParse(each).data ?? [],
  );

function countedOf({ counted }: Body, count: number): CountedAnswer | undefined {
  if (!Array.isArray(counted) || counted.length !== count) return undefined;
  return { kind: 'accepted', counted: counted.map((one: unknown) => one === true) };
}

const answers = ['accepted', 'wait', 'refused'] as const satisfies readonly PreflightFileAnswer['answer'][];

function fileAnswer(value: unknown): PreflightFileAnswer | undefined {
  if (typeof value !== 'object' || value === null || !('answer' in value)) return undefined;
  const answer = answers.find((known) => known === value.answer);
  const because =
    'because' in value && typeof value.because === 'string' ? { because: oneLine(value.because, 200) } : {};
  return answer && { answer, ...because };
}

function answersOf({ files }: Body, count: number): FilesAnswer | undefined {
  if (!Array.isArray(files) || files.length !== count) return undefined;
  const each = files.map(fileAnswer).filter((answer) => answer !== undefined);
  return each.length === count ? { kind: 'answered', files: each } : undefined;
}

/** Longest wait that is accepted from `Retry-After`, ms. */
const longestRetryAfterMs = 60_000;

function failureOf(status: number, text: string, asked: RetryAfter): Failure {
  const kind =
    status === 400 || status === 413 ? 'rejected' : status === 401 || status === 403 ? 'denied' : 'unavailable';
  const { error } = parsed(text);
  const wait = retryAfterMs(asked, longestRetryAfterMs);
  return {
    kind,
    reason: isRejection(error) ? error : 'unknown',
    because: `the controller answered ${status}: ${oneLine(text, 200)}`,
    ...(wait !== undefined && { retryAfterMs: wait }),
  };
}

export function connectController(
  { url, caFile, tokenFile }: AgentSettings['controller'],
  version: string,
): ControllerConnection {
  let current: { readonly ca: string; readonly agent: Agent } | undefined;
  let opened = 0;

  /** Not async, so that two concurrent requests get the same one. */
  function agentFor(ca: string): Agent {
    if (current?.ca === ca) return current.agent;
    void drop();
    // Another connection is opened only while the first is busy, so that files do not delay faults.
    // Kept for longer than the time between heartbeats: a TLS handshake per node and heartbeat would be most of the controller's work.
    const agent = new Agent({
      connect: { ca, timeout: timeoutMs },
      connections: 3,
      keepAliveTimeout: 60_000,
      maxResponseSize: answerMost,
    });
    agent.on('connect', () => (opened += 1));
    current = { ca, agent };
    return agent;
  }

  async function drop(): Promise<void> {
    const agent = current?.agent;
    current = undefined;
    await agent?.destroy();
  }

  async function send<Accepted>(
    path: string,
    body: unknown,
    signal: AbortSignal,
    parse: (answer: Body) => Accepted | undefined,
  ): Promise<Accepted | Failure> {
    try {
      const [ca, token] = await Promise.all([readFile(caFile, 'utf8'), readFile(tokenFile, 'utf8')]);
      const response = await fetch(new URL(path, url), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token.trim()}`,
          'content-type': 'application/json',
          'user-agent': `kcover-agent/${version}`,
        },
        body: JSON.stringify(body),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        dispatcher: agentFor(ca),
      });
      const text = await response.text();
      const accepted = response.ok ? parse(parsed(text)) : undefined;
      if (accepted !== undefined) return accepted;
      const failure = failureOf(response.status, text, {
        value: response.headers.get('retry-after'),
        date: response.headers.get('date'),
      });
      // A kept connection always leads to the same pod; the Service routes a new one to the new leader.
      // `too-many` comes from the leader, which another handshake would only burden more.
      if (failure.kind === 'unavailable' && response.status !== 429) await drop();
      return failure;
    } catch (error) {
      // The agent stops: do not retry, but another request may be in flight.
      if (!signal.aborted) await drop();
      return { kind: 'unavailable', reason: 'unreachable', because: reasonOf(error) };
    }
  }

  return {
    post: (batch, signal) => send(reportPath, batch, signal, acceptedOf),
    postPreflight: (files, signal) =>
      send(preflightPath, files, signal, (answer) => answersOf(answer, files.files.length)),
    postProgress: (files, signal) =>
      send(progressPath, files, signal, (answer) => countedOf(answer, files.files.length)),
    postLogs: (logs, signal) => send(logPath, logs, signal, (answer) => countedOf(answer, logs.logs.length)),
    opened: () => opened,
    close: drop,
  };
}

/** Hook: a request to a server, which answers at once or is asked until it is finished. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { HookResult } from '../../contract/remedy/remedy.ts';
import type { Hook } from '../../contract/settings/remediation.schema.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { failed, readAnswer, unknown } from './answer.ts';
import { type HookRun, overdue } from './hook-run.ts';
import { callHook, type HttpAnswer, tokenIn } from './http-request.ts';

type HttpHook = Extract<Hook, { kind: 'http' }>;

/** What follows from an answer: the result, or the next request. */
type Next = HookResult | { readonly next: 'send' | 'look' };

/** Longest time of one request, ms. */
const requestMs = 30_000;

export async function runHttp(run: HookRun, hook: HttpHook): Promise<HookResult> {
  const { dependencies, deadline, signal } = run;
  const server = new URL(hook.url).host;
  run.reference = `operation ${run.request.operation} of ${server}`;
  let step: Next = run.isLater ? whenUnclear(run, hook, 'an earlier try may have sent it') : { next: 'send' };
  let isReached = run.isLater;
  for (let isFirst = !run.isLater; 'next' in step; isFirst = false) {
    if (!isFirst) await sleep(Math.min(hook.poll, Math.max(0, deadline - dependencies.now())), undefined, { signal });
    if (dependencies.now() >= deadline)
      return isReached ? unknown(overdue(run, run.reference)) : failed(`${server} could not be reached in time`);
    const sent: Next | 'unreachable' = step.next === 'send' ? await send(run, hook) : await look(run, hook);
    if (sent === 'unreachable') {
      // Where nothing was ever sent, the server has done nothing.
      step = isReached ? whenUnclear(run, hook, `${server} cannot be reached`) : { next: 'send' };
    } else {
      isReached = true;
      step = sent;
    }
  }
  return step;
}

const timeLeft = ({ deadline, dependencies }: HookRun): number =>
  Math.max(1, Math.min(requestMs, deadline - dependencies.now()));

async function send(run: HookRun, hook: HttpHook): Promise<Next | 'unreachable'> {
  const { operation, node, systemUuid, incident, codes, devices } = run.request;
  const token = await tokenIn(hook.tokenFile);
  run.note({ begun: true });
  const answer = await callHook({
    method: 'POST',
    url: hook.url,
    token,
    headers: { 'content-type': 'application/json', 'idempotency-key': operation },
    body: JSON.stringify({ operation, node, systemUuid, incident, codes, devices }),
    timeoutMs: timeLeft(run),
    signal: run.signal,
  });
  if (answer.kind === 'unreachable') return 'unreachable';
  if (answer.kind === 'unclear') return whenUnclear(run, hook, answer.because);
  const { status } = answer;
  if (status === 202) return whenAccepted(run, hook, answer.location);
  if (status >= 500 || status === 408) return whenUnclear(run, hook, inWords(answer));
  if (status === 429) return { verdict: 'busy', because: inWords(answer) };
  return finalResult(run, answer) ?? failed(inWords(answer));
}

/** Whether the request was received is not known: it is not sent again, unless that does no harm. */
function whenUnclear(run: HookRun, hook: HttpHook, because: string): Next {
  if (lookUrl(run, hook) !== undefined) return { next: 'look' };
  return hook.idempotent ? { next: 'send' } : unknown(`whether it acted is not known: ${because}`);
}

function whenAccepted(run: HookRun, hook: HttpHook, location: string | undefined): Next {
  run.note({ accepted: true, ...(location !== undefined && { location: location.slice(0, 2000) }) });
  return lookUrl(run, hook) === undefined
    ? unknown('it was accepted, and nothing says where its end can be seen: set look')
    : { next: 'look' };
}

async function look(run: HookRun, hook: HttpHook): Promise<Next> {
  const url = lookUrl(run, hook) ?? hook.url;
  const token = await tokenIn(hook.tokenFile);
  const answer = await callHook({ method: 'GET', url, token, timeoutMs: timeLeft(run), signal: run.signal });
  const goesOn = { next: 'look' } as const;
  if (answer.kind !== 'answer') return goesOn;
  const { status } = answer;
  if (status === 202 || status === 408 || status === 429 || status >= 500) return goesOn;
  // A server that accepted an operation may show it later.
  if (status === 404 && run.progress.accepted) return goesOn;
  if (status === 404 && hook.idempotent) return { next: 'send' };
  return (
    finalResult(run, answer) ?? unknown(`whether it acted is not known: ${inWords(answer)} when it was looked for`)
  );
}

/** Undefined for an answer that says nothing of the operation. */
function finalResult({ request }: HookRun, { status, text }: Answered): HookResult | undefined {
  if (status === 409) return { verdict: 'busy', because: inWords({ status, text }) };
  if (status === 204) return { verdict: 'passed', because: 'HTTP 204' };
  if (status !== 200 && status !== 201) return status < 300 ? unknown(inWords({ status, text })) : undefined;
  if (text === undefined) return unknown(`HTTP ${status} with more than 64 KiB`);
  const answer = readAnswer(text, request, 'passed');
  // A page of a proxy is no result.
  return 'unreadable' in answer
    ? unknown(`HTTP ${status} with a body that cannot be read: ${answer.unreadable}`)
    : answer;
}

/** Where the state of the operation is found: by settings, or as the server said, at the same server. */
function lookUrl({ request, progress }: HookRun, { url, look: template }: HttpHook): string | undefined {
  if (template !== undefined) return template.replaceAll('{operation}', request.operation);
  if (progress.location === undefined || !URL.canParse(progress.location, url)) return undefined;
  const found = new URL(progress.location, url);
  return found.origin === new URL(url).origin ? found.href : undefined;
}

type Answered = Pick<Extract<HttpAnswer, { kind: 'answer' }>, 'status' | 'text'>;

const inWords = ({ status, text = '' }: Answered): string => {
  const said = foreignText(text, 200);
  return `HTTP ${status}${said === '' ? '' : `: ${said}`}`;
};

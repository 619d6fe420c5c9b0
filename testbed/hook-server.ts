/** A server of hooks, as a site would run one: it answers for each path with what was agreed, and says which node and operation it means. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a hook answers, and how long it works on the node, ms. */
export interface AgreedHook {
  readonly worksMs: number;
  act?(node: string): Promise<void>;
  readonly answer: { readonly verdict: 'passed' | 'failed'; readonly because: string };
}

export interface HookServer {
  readonly url: string;
  /** Requests in order. */
  readonly asked: readonly { readonly hook: string; readonly node: string; readonly operation: string }[];
  agree(hook: string, agreed: AgreedHook): void;
  close(): Promise<void>;
}

export async function startHookServer(): Promise<HookServer> {
  const hooks = new Map<string, AgreedHook>();
  const asked: { hook: string; node: string; operation: string }[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { node, operation } = JSON.parse(Buffer.concat(parts).toString()) as { node: string; operation: string };
      const hook = (request.url ?? '').slice(1);
      asked.push({ hook, node, operation });
      void work(hooks.get(hook), node).then((answer) => response.end(JSON.stringify({ ...answer, node, operation })));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    agree: (hook, agreed) => void hooks.set(hook, agreed),
    close() {
      server.closeAllConnections();
      return new Promise((closed) => server.close(() => closed()));
    },
  };
}

async function work(agreed: AgreedHook | undefined, node: string): Promise<object> {
  if (!agreed) return { verdict: 'failed', because: 'there is no such hook' };
  await sleep(agreed.worksMs);
  await agreed.act?.(node);
  return agreed.answer;
}

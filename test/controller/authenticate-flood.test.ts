import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { authenticator } from '../../controller/intake/authenticate.ts';
import { serviceToken } from '../support/service-token.ts';

const honest = 200;
/** How long the API server takes for a review, ms: too long for all that arrive. */
const reviewMs = 50;
const user = 'system:serviceaccount:kcover-system:kcover-agent';

/** Advances a millisecond at a time; reviews are answered when their time has come. */
function cluster() {
  let time = 0;
  const due: { readonly at: number; readonly done: () => void }[] = [];
  const wait = (ms: number) => new Promise<void>((done) => void due.push({ at: time + ms, done }));
  const authenticate = authenticator({
    audience: 'kcover-controller',
    account: 'kcover-system/kcover-agent',
    now: () => time,
    source: {
      async review(token) {
        await wait(reviewMs);
        const [, name = ''] = /\.good-(.+)$/.exec(token) ?? [];
        return { authenticated: name !== '', user, pod: { name, uid: `uid-${name}` }, node: `node-${name}` };
      },
      pod: async (_namespace, name) => ({ uid: `uid-${name}`, node: `node-${name}`, dead: false }),
    },
  });
  return {
    authenticate,
    wait,
    async tick(): Promise<void> {
      time += 1;
      for (const { done } of due.filter(({ at }) => at === time)) done();
      await setImmediate();
    },
  };
}

const bearer = (uid: string, signature: string): string =>
  `Bearer ${serviceToken({ pod: { name: 'agent', uid } }, signature)}`;

describe('a flood of forged tokens, a thousand a second from five addresses', () => {
  it.each<[sentence: string, claimed: (index: number) => string]>([
    ['keeps out no agent, even if it was never accepted before', (index) => `forged-${index}`],
    ['keeps out none either where it claims the UIDs of their pods', (index) => `uid-${index % honest}`],
    ['keeps out none either where it claims the UID of one of them', () => 'uid-7'],
  ])('%s', async (_, claimed) => {
    const { authenticate, wait, tick } = cluster();
    const letIn = new Set<number>();
    const asks = async (agent: number): Promise<void> => {
      const answer = await authenticate(bearer(`uid-${agent}`, `good-${agent}`), `10.1.0.${agent}`);
      if (answer.kind === 'reporter') letIn.add(agent);
      else await wait(1000 + ((agent * 7) % 500)).then(() => asks(agent));
    };
    for (let ms = 0; ms < 20_000 && letIn.size < honest; ms++) {
      void authenticate(bearer(claimed(ms), `forged-${ms}`), `10.2.0.${ms % 5}`);
      if (ms === 300) for (let agent = 0; agent < honest; agent++) void asks(agent);
      await tick();
    }
    expect(letIn.size).toBe(honest);
  });
});

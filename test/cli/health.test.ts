import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { type Health, serveHealth } from '../../cli/roles/health.ts';

let health: Health | undefined;
afterEach(async () => {
  await health?.close();
});

async function ready(
  notReady: string | undefined,
  remarks: readonly string[],
): Promise<{ status: number; text: string }> {
  health = await serveHealth({
    listen: '127.0.0.1:0',
    notReady: () => notReady,
    remarks: () => remarks,
    registry: new Registry(),
    more: async () => '',
  });
  const answer = await fetch(`${health.address}/readyz`);
  return { status: answer.status, text: await answer.text() };
}

describe('a role that is asked whether it is ready', () => {
  it('answers ready', async () => {
    expect(await ready(undefined, [])).toEqual({ status: 200, text: 'ok\n' });
  });

  it('answers ready with remarks on what does not work', async () => {
    expect(await ready(undefined, ['progress files cannot be read: x'])).toEqual({
      status: 200,
      text: 'ok\nprogress files cannot be read: x\n',
    });
  });

  it('says why it is not', async () => {
    expect(await ready('starting', ['x'])).toEqual({ status: 503, text: 'starting\n' });
  });
});

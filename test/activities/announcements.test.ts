import { describe, expect, it } from '@jest/globals';
import { withAnnouncements } from '../../activities/announcements.ts';
import type { Activities, Announcement } from '../../contract/wire/activities.ts';

const event = (reason: Announcement['reason']): Announcement => ({
  about: { kind: 'node', name: 'gpu-1' },
  type: 'Normal',
  reason,
  message: 'so',
  key: 'k',
});
const along = { events: [event('NodeReleased'), event('FaultObserved')] };

type Call = (request: unknown, along?: unknown) => Promise<unknown>;

/** An activity under the name of a real one, beside an API server that refuses the first Events. */
function activity(main: (request: unknown) => Promise<unknown>, refusals = 0) {
  const written: string[] = [];
  const warnings: unknown[] = [];
  let left = refusals;
  const announce: Activities['announce'] = async ({ events }) => {
    left -= 1;
    if (left >= 0) throw new Error('503');
    written.push(...events.map(({ reason }) => reason));
  };
  const all = withAnnouncements({ announce, observeJob: main } as unknown as Activities, {
    warn: (given: unknown) => void warnings.push(given),
  });
  return { call: all.observeJob as unknown as Call, written, warnings };
}

describe('an activity that takes Events along', () => {
  it('answers as it would without them, and they are written when it has ended', async () => {
    const { call, written } = activity(async (request) => ({ saw: request }));
    expect(await call('llm', along)).toEqual({ saw: 'llm' });
    expect(written).toEqual(['NodeReleased', 'FaultObserved']);
  });

  it('does not fail with them: they are tried again, while what it did counts', async () => {
    const { call, written, warnings } = activity(async () => 'done', 1);
    expect(await call('llm', along)).toBe('done');
    expect(written).toEqual(['NodeReleased', 'FaultObserved']);
    expect(warnings).toEqual([]);
  });

  it('writes them although it fails itself', async () => {
    const { call, written } = activity(() => Promise.reject(new Error('conflict')));
    await expect(call('llm', along)).rejects.toThrow('conflict');
    expect(written).toEqual(['NodeReleased', 'FaultObserved']);
  });

  it('writes nothing where there is nothing to write', async () => {
    const { call, written } = activity(async () => 'done');
    expect(await call('llm')).toBe('done');
    expect(written).toEqual([]);
  });
});

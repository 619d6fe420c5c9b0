import { describe, expect, it } from '@jest/globals';
import { nodesIn, requestIn } from '../../../cli/maintenance/request.ts';
import type { Typed } from '../../../cli/program/command.ts';
import { kcover } from '../kcover.ts';

const now = Date.parse('2026-11-23T22:00:00Z');
const typed = (options: Readonly<Record<string, string | true>>, nodes: readonly string[] = ['gpu-3']): Typed => {
  const option = (name: string): string | undefined => {
    const value = options[name];
    return value === true ? undefined : value;
  };
  return {
    argument: () => nodes[0] ?? '',
    arguments: () => nodes,
    option,
    value: (name) => option(name) ?? '',
    flag: (name) => options[name] === true,
  };
};
const ask = (options: Readonly<Record<string, string | true>>) => requestIn(typed(options), 'ada', now);
const window = { from: '2h', until: '4h', reason: 'driver 580' };

describe('the time of a maintenance', () => {
  it('is a duration from now, or a time with its zone', () => {
    const two = Date.parse('2026-11-24T00:00:00Z');
    const plan = { by: 'ada', reason: 'driver 580', from: two, until: two + 7_200_000 };
    expect(ask(window)).toEqual({ kind: 'plan', plan });
    expect(ask({ ...window, from: '2026-11-24T01:00:00+01:00', until: '2026-11-24T02:00Z' })).toEqual({
      kind: 'plan',
      plan,
    });
  });

  it.each([
    ['without a zone', { from: '2026-11-24T01:00:00' }, '--from 2026-11-24T01:00:00 is neither a duration nor a time'],
    ['of a month that does not exist', { from: '2026-13-24T01:00:00Z' }, 'is neither a duration nor a time'],
    ['in words', { until: 'tomorrow' }, '--until tomorrow is neither a duration nor a time'],
    ['whose begin is after its end', { from: '4h', until: '2h' }, 'its begin is not before its end'],
    ['that is over', { from: '2026-11-23T20:00:00Z', until: '2026-11-23T21:00:00Z' }, 'its end is in the past'],
    ['that lies years ahead', { until: '9999d' }, 'its end is more than a year from now'],
    ['without a reason', { reason: '' }, 'it takes --from, --until and --reason'],
  ])('is refused %s', (_what, more, because) => {
    expect(() => ask({ ...window, ...more })).toThrow(
      expect.objectContaining({ code: 'usage', because: expect.stringContaining(because) }),
    );
  });

  it('is not given with --cancel, which needs no reason', () => {
    expect(ask({ cancel: true })).toEqual({ kind: 'cancel', by: 'ada', reason: 'cancelled' });
    expect(ask({ cancel: true, reason: 'not today' })).toMatchObject({ reason: 'not today' });
    for (const more of [{ from: '2h' }, { until: '2h' }, { replace: true } as const])
      expect(() => ask({ cancel: true, ...more })).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});

describe('the nodes of a maintenance', () => {
  it('are names, each once, or a selector, and never both or none', () => {
    expect(nodesIn(typed({}, ['gpu-3', 'gpu-4', 'gpu-3']))).toEqual({ names: ['gpu-3', 'gpu-4'] });
    expect(nodesIn(typed({ selector: 'rack=r7' }, []))).toEqual({ selector: 'rack=r7' });
    for (const bad of [typed({}, []), typed({ selector: 'rack=r7' })])
      expect(() => nodesIn(bad)).toThrow(expect.objectContaining({ code: 'usage' }));
  });

  it('are refused by the program with what, because and what to try', async () => {
    const { code, stderr } = await kcover([
      'node',
      'maintain',
      'gpu-3',
      '--from',
      '4h',
      '--until',
      '2h',
      '--reason',
      'x',
    ]);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /because: --from 4h --until 2h: its begin is not before its end\n +try: +kcover node maintain/,
    );
  });
});

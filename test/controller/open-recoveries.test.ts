import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { Gauge, Registry } from 'prom-client';
import { metricTable } from '../../contract/metrics/catalogue.ts';
import { countOpenRecoveries } from '../../controller/watch/open-recoveries.ts';

describe('the count of open recoveries', () => {
  it('follows Temporal, and has no value while Temporal does not answer or nobody leads', async () => {
    const gauge = new Gauge({ ...metricTable.controller.recoveriesOpen, registers: [new Registry()] });
    const over = new AbortController();
    const seen: unknown[] = [];
    const answers = [
      new Map([
        ['held', 2],
        ['stopping', 1],
      ]),
      new Map([['stopping', 1]]),
      undefined,
      new Map([['held', 1]]),
    ];
    const openRecoveries = async (): Promise<ReadonlyMap<string, number>> => {
      seen.push((await gauge.get()).values.map(({ labels, value }) => [labels.phase, value]));
      const answer = answers.shift();
      if (answers.length === 0) over.abort();
      if (!answer) throw new Error('Temporal does not answer');
      return answer;
    };
    const log = pino({ level: 'silent' });
    await countOpenRecoveries({ workflows: { openRecoveries }, gauge, log, signal: over.signal, everyMs: 1 });
    await sleep(0);
    seen.push((await gauge.get()).values);
    expect(seen).toEqual([
      [],
      [
        ['held', 2],
        ['stopping', 1],
      ],
      [['stopping', 1]],
      [],
      [],
    ]);
  });
});

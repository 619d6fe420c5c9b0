import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { Registry } from 'prom-client';
import { controllerMetrics } from '../../controller/metrics.ts';
import { countOpenIncidents } from '../../controller/watch/open-incidents.ts';

const readings = {
  leading: () => true,
  messagesWaiting: () => 0,
  agentsLive: () => 0,
  agentsSilent: () => [],
  quarantines: () => new Map(),
};

describe('the count of open recoveries and storms', () => {
  it('follows Temporal, and has no value while Temporal does not answer or this controller does not lead', async () => {
    const registry = new Registry();
    const metrics = controllerMetrics(registry, readings);
    const over = new AbortController();
    const served = async () =>
      (await registry.metrics())
        .split('\n')
        .filter((line) => /^kcover_(recoveries_open|storms_open|temporal_answers)/.test(line));
    const answers = [new Map([['held', 2]]), new Map([['stopping', 1]]), undefined, new Map([['held', 1]])];
    const seen: string[][] = [];
    const openRecoveries = async (): Promise<ReadonlyMap<string, number>> => {
      seen.push(await served());
      const answer = answers.shift();
      if (answers.length === 0) over.abort();
      if (!answer) throw new Error('Temporal does not answer');
      return answer;
    };
    // The third time, no worker runs.
    const storms = [2, 0, undefined, 1];
    const openStorms = async (): Promise<number> => {
      const answer = storms.shift();
      if (answer === undefined) throw new Error('the workflow does not answer');
      return answer;
    };
    const log = pino({ level: 'silent' });
    const workflows = { openRecoveries, openStorms };
    await countOpenIncidents({ workflows, metrics, log, signal: over.signal, everyMs: 1 });
    expect(seen).toEqual([
      [],
      ['kcover_temporal_answers 1', 'kcover_storms_open 2', 'kcover_recoveries_open{phase="held"} 2'],
      ['kcover_temporal_answers 1', 'kcover_storms_open 0', 'kcover_recoveries_open{phase="stopping"} 1'],
      ['kcover_temporal_answers 0'],
    ]);
    expect(await served()).toEqual([]);
  });
});

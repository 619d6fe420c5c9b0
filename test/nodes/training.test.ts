/** A real trainer in real containers, protected by kcover: the claims of `npm run demo -- --real`. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readRecord } from '../../testbed/incident.ts';
import type { Proof } from '../../testbed/proof.ts';
import { type RealFacts, realTrainer } from '../../testbed/real-trainer.ts';
import type { DemoFixture } from '../../testbed/demo-fixture.ts';
import type { StoryResult } from '../../testbed/story.ts';
import { until } from '../../testbed/until.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

let fixture: DemoFixture;
let result: StoryResult;
let facts: Proof & RealFacts;

beforeAll(async () => {
  fixture = await realTrainer.set({ nodes: realTrainer.nodes, mode: 'act', print: say });
  result = await realTrainer.run(fixture, say);
  facts = result.facts as unknown as Proof & RealFacts;
}, 1_800_000);
afterAll(async () => {
  await fixture?.kcover.stop();
  await fixture?.cluster.stop();
});

describe('a trainer with four ranks on a node whose GPU begins to fail', () => {
  it('is recovered on other nodes, which a kubelet and containerd of their own run', () => {
    expect(result.seen.outcome).toBe('recovered');
    expect(Object.keys(result.seen.attemptAfter)).toEqual(['llm-master-0', 'llm-worker-0']);
    expect(Object.values(result.seen.attemptBefore).map(({ node }) => node)).toContain(facts.node);
    expect(Object.values(result.seen.attemptAfter).map(({ node }) => node)).not.toContain(facts.node);
    expect(facts.kubelet).toMatch(/^v1\./);
    expect(facts.containerRuntime).toMatch(/^containerd:\/\/v?2\./);
  });

  it('has answered SIGTERM with all ranks, and saved', () => {
    expect(new Set(facts.sigterm.map(({ rank }) => rank))).toEqual(new Set([0, 1, 2, 3]));
    const record = until('the record of the incident', 10_000, () => readRecord(fixture.kcover, fixture.job));
    return expect(record).resolves.toMatchObject({
      checkpoints: expect.arrayContaining([expect.objectContaining({ kind: 'saved' })]),
    });
  });

  it('continues from the step that it saved at its end, with the same loss', () => {
    expect(facts.resumedFromStep).toBeGreaterThanOrEqual(facts.stepBefore ?? NaN);
    expect(facts.stepAfter).toBeGreaterThan(facts.resumedFromStep ?? NaN);
    const { first, before, after } = facts.losses;
    expect(Math.abs(after - before)).toBeLessThan(Math.abs(first - after));
    expect(result.ok).toBe(true);
  });

  it('leaves what its ranks printed as evidence', async () => {
    const record = await until('the record of the incident', 10_000, () => readRecord(fixture.kcover, fixture.job));
    const addresses = record.evidence?.map(({ address }) => address) ?? [];
    const files = facts.evidence.flatMap(({ file }) => addresses.map((address) => join(address, file)));
    const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
    expect(texts.join('\n')).toMatch(/rank 0: step \d+ loss [\d.]+ rate/);
  });
});

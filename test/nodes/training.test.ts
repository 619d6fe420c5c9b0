/** A real trainer in real containers, looked after by kcover: what `npm run demo -- --real` tells is so. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readRecord } from '../../testbed/incident.ts';
import type { Proof } from '../../testbed/proof.ts';
import { type RealFacts, realTrainer } from '../../testbed/real-trainer.ts';
import type { Scene } from '../../testbed/scene.ts';
import type { Told } from '../../testbed/story.ts';
import { until } from '../../testbed/until.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

let scene: Scene;
let told: Told;
let facts: Proof & RealFacts;

beforeAll(async () => {
  scene = await realTrainer.set({ nodes: realTrainer.nodes, mode: 'act', tell: say });
  told = await realTrainer.tell(scene, say);
  facts = told.facts as unknown as Proof & RealFacts;
}, 1_800_000);
afterAll(async () => {
  await scene?.kcover.stop();
  await scene?.world.stop();
});

describe('a trainer with four ranks on a node whose GPU begins to fail', () => {
  it('is recovered on other nodes, which a kubelet and containerd of their own run', () => {
    expect(told.seen.outcome).toBe('recovered');
    expect(Object.keys(told.seen.attemptAfter)).toEqual(['llm-master-0', 'llm-worker-0']);
    expect(Object.values(told.seen.attemptBefore).map(({ node }) => node)).toContain(facts.node);
    expect(Object.values(told.seen.attemptAfter).map(({ node }) => node)).not.toContain(facts.node);
    expect(facts.kubelet).toMatch(/^v1\./);
    expect(facts.containerRuntime).toMatch(/^containerd:\/\/v?2\./);
  });

  it('has answered SIGTERM with all ranks, and saved', () => {
    expect(new Set(facts.sigterm.map(({ rank }) => rank))).toEqual(new Set([0, 1, 2, 3]));
    const record = until('the record of the incident', 10_000, () => readRecord(scene.kcover, scene.job));
    return expect(record).resolves.toMatchObject({ checkpoints: expect.arrayContaining([expect.objectContaining({ kind: 'saved' })]) });
  });

  it('goes on from the step that it saved at its end, with the loss that it had', () => {
    expect(facts.resumedFromStep).toBeGreaterThanOrEqual(facts.stepBefore ?? NaN);
    expect(facts.stepAfter).toBeGreaterThan(facts.resumedFromStep ?? NaN);
    const { first, before, after } = facts.losses;
    expect(Math.abs(after - before)).toBeLessThan(Math.abs(first - after));
    expect(told.ok).toBe(true);
  });

  it('leaves what its ranks printed as evidence', async () => {
    const record = await until('the record of the incident', 10_000, () => readRecord(scene.kcover, scene.job));
    const addresses = record.evidence?.map(({ address }) => address) ?? [];
    const files = facts.evidence.flatMap(({ file }) => addresses.map((address) => join(address, file)));
    const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
    expect(texts.join('\n')).toMatch(/rank 0: step \d+ loss [\d.]+ rate/);
  });
});

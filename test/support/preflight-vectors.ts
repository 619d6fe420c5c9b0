/** The reference project's vectors for collecting and judging, with the expected outcome in each version. */

import { readFileSync } from 'node:fs';
import type { CollectingProfile } from '../../policy/preflight/collecting.ts';

export const vectorsFile = new URL('../fixtures/preflight-vectors.json', import.meta.url);

type OfProfile<T> = Readonly<Record<CollectingProfile, T>>;

export interface ExpectedVector {
  readonly name: string;
  readonly reports: readonly { readonly report?: unknown }[];
  /** Outcome of the last step. */
  readonly expected: OfProfile<unknown>;
  /** For every step, where an earlier step does more than wait. */
  readonly expectedSteps?: OfProfile<readonly unknown[]>;
}

export const vectors = JSON.parse(readFileSync(vectorsFile, 'utf8')) as readonly ExpectedVector[];

/** Differences from the expected outcome, for a message that names the vector. */
export const expectedOf = ({ name, expected, expectedSteps }: ExpectedVector, profile: CollectingProfile) => ({
  name,
  last: expected[profile],
  ...(expectedSteps && { steps: expectedSteps[profile] }),
});

export const foundIn = ({ name, expectedSteps }: ExpectedVector, steps: readonly unknown[]) => ({
  name,
  last: steps.at(-1),
  ...(expectedSteps && { steps }),
});

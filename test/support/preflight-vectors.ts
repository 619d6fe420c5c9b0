/** The vectors of the reference project's collecting and judging, and what each version makes of them. */

import { readFileSync } from 'node:fs';
import type { CollectingProfile } from '../../policy/preflight-collecting.ts';

export const vectorsFile = new URL('../fixtures/preflight-vectors.json', import.meta.url);

type OfProfile<T> = Readonly<Record<CollectingProfile, T>>;

export interface ExpectedVector {
  readonly name: string;
  readonly reports: readonly { readonly report?: unknown }[];
  /** Outcome of the last step. */
  readonly expected: OfProfile<unknown>;
  /** Of every step, where an earlier one is more than waiting. */
  readonly expectedSteps?: OfProfile<readonly unknown[]>;
}

export const vectors = JSON.parse(readFileSync(vectorsFile, 'utf8')) as readonly ExpectedVector[];

/** What differs from what is expected, for a message that names the vector. */
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

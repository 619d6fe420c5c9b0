import type { ObservedIncident } from './incident.ts';
import type { DemoFixture, DemoFixtureOptions } from './demo-fixture.ts';

/** One demo of `npm run demo`. */
export interface Story {
  /** Number of nodes that it needs. */
  readonly nodes: number;
  set(options: DemoFixtureOptions): Promise<DemoFixture>;
  run(fixture: DemoFixture, print: (line: string) => void): Promise<StoryResult>;
}

/** Result of a completed demo. */
export interface StoryResult {
  readonly seen: ObservedIncident;
  /** Time before the fault was injected. */
  readonly since: Date;
  /** Facts of this demo, for JSON. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** The same facts for people: a label and a text. */
  readonly lines: readonly (readonly [string, string])[];
  /** Commands to try in another terminal. */
  readonly commands: readonly string[];
  readonly ok: boolean;
}

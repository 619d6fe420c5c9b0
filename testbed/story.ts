import type { IncidentSeen } from './incident.ts';
import type { DemoFixture, DemoFixtureOptions } from './demo-fixture.ts';

/** Something that `npm run demo` tells. */
export interface Story {
  /** Nodes that it needs to be told well. */
  readonly nodes: number;
  set(options: DemoFixtureOptions): Promise<DemoFixture>;
  run(fixture: DemoFixture, say: (line: string) => void): Promise<StoryResult>;
}

/** A story that has been told to its end. */
export interface StoryResult {
  readonly seen: IncidentSeen;
  /** Before anything was done about it. */
  readonly since: Date;
  /** What is special to this story, for JSON. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** The same for people: a word and what is said about it. */
  readonly lines: readonly (readonly [string, string])[];
  /** What to look at in another terminal. */
  readonly commands: readonly string[];
  readonly ok: boolean;
}

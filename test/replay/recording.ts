/** The shape of a recorded scenario. */

import type { FakeCluster } from '../support/fake-cluster.ts';
import type { Rig } from '../support/rig.ts';

export interface ReplayFixture {
  readonly rig: Rig;
  readonly cluster: FakeCluster;
}

/** The workflows whose histories a scenario records: `<workflow>/<behaviour>` -> workflow id. */
export type Recorded = Readonly<Record<string, string>>;
export type Recording = (fixture: ReplayFixture) => Promise<Recorded>;

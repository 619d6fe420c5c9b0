/** What activities depend on. */

import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { WorkerSettings } from '../contract/settings/settings.schema.ts';
import type { Kube } from '../kube/client/connection.ts';
import type { EvidenceStore } from './evidence/store.ts';
import type { RecordStore } from './records.ts';

export interface Dependencies {
  readonly kube: Kube;
  /** kcover's own namespace, where a pause is stored. */
  readonly namespace: string;
  readonly settings: WorkerSettings;
  /** For signals, updates, queries and visibility. */
  readonly temporal: () => Client;
  readonly records: RecordStore;
  readonly evidence: EvidenceStore;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

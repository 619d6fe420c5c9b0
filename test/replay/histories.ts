import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const directory = fileURLToPath(new URL('histories', import.meta.url));

export interface RecordedHistory {
  /** `<workflow>/<behaviour>@<version>`. */
  readonly name: string;
  readonly workflow: string;
  readonly json: { readonly events: readonly RecordedEvent[] };
}

export interface RecordedEvent {
  readonly eventType: string;
  readonly activityTaskScheduledEventAttributes?: {
    readonly activityType: { readonly name: string };
    readonly priority?: { readonly priorityKey?: number };
  };
  readonly workflowExecutionStartedEventAttributes?: {
    readonly workflowId?: string;
    readonly input?: { readonly payloads: readonly { readonly data: string }[] };
  };
}

/** Every history that was ever recorded, of this version and earlier ones. */
export const recordedHistories: readonly RecordedHistory[] = readdirSync(directory)
  .flatMap((workflow) => readdirSync(join(directory, workflow)).map((file) => ({ workflow, file })))
  .map(({ workflow, file }) => ({
    workflow,
    name: `${workflow}/${file.replace(/\.json$/, '')}`,
    json: JSON.parse(readFileSync(join(directory, workflow, file), 'utf8')) as RecordedHistory['json'],
  }))
  .toSorted((a, b) => a.name.localeCompare(b.name));

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LogEvent, LogReaderOptions } from '../../../faults/logs/log-event.ts';
import { createLogReader } from '../../../faults/logs/log-reader.ts';

const directory = fileURLToPath(new URL('../../fixtures/logs', import.meta.url));

/** Names of the samples of real logs, without `.log`. */
export const sampleNames = readdirSync(directory)
  .filter((name) => name.endsWith('.log'))
  .map((name) => name.slice(0, -'.log'.length));

export const linesOfSample = (name: string): readonly string[] =>
  readFileSync(`${directory}/${name}.log`, 'utf8').trimEnd().split('\n');

export function eventsOf(
  lines: readonly string[],
  options: LogReaderOptions = { preset: 'auto' },
): { readonly events: readonly LogEvent[]; readonly preset: string | undefined } {
  const reader = createLogReader(options);
  const events = lines.flatMap((line) => reader.take(line));
  return { events, preset: reader.preset };
}

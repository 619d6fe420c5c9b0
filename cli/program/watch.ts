/** `--watch`: a command looks again and again, and what it finds is shown until a person ends it. */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { escapeUnseen, oneLine } from '../../contract/text.ts';
import { KcoverError } from '../../contract/errors.ts';
import { clockTime } from './clock.ts';
import type { CommandOutput, OutputFormat, WatchedItem } from './command.ts';
import { yaml } from './output.ts';

/** Pause after each answer, ms. */
export const pauseMs = 2000;

/** What one look found, or why it failed. */
export type Look = { readonly output: CommandOutput } | { readonly failure: KcoverError };

/** Shows what each look found. */
export type Show = (look: Look, now: number) => void | Promise<void>;

/** Looks and shows until it is stopped. An error that a later look may not meet is shown; any other is thrown. */
export async function watch(look: () => Promise<CommandOutput>, show: Show, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    const found = await unlessStopped(lookOnce(look), stopped);
    if (found === undefined) return;
    await show(found, Date.now());
    await sleep(pauseMs, undefined, { signal: stopped }).catch(() => undefined);
  }
}

/** Undefined when it was stopped first. */
async function unlessStopped(found: Promise<Look>, stopped: AbortSignal): Promise<Look | undefined> {
  const over = new AbortController();
  const stop = once(stopped, 'abort', { signal: over.signal }).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([found, stop]);
  } finally {
    over.abort();
  }
}

async function lookOnce(look: () => Promise<CommandOutput>): Promise<Look> {
  try {
    return { output: await look() };
  } catch (error) {
    if (error instanceof KcoverError && error.transient) return { failure: error };
    throw error;
  }
}

/** One line of a text, or one document. */
interface Change extends Pick<WatchedItem, 'about' | 'data'> {
  /** `answered`: the first look that did not fail after one that failed. */
  readonly change: 'new' | 'changed' | 'gone' | 'failed' | 'answered';
  readonly line: string;
}

/** Prints a line or a document for each change, beginning with all that is there. */
export function changes(format: OutputFormat, write: (text: string) => Promise<void>): Show {
  let known: ReadonlyMap<string, string> = new Map();
  let failed: string | undefined;
  return async (look, now) => {
    if ('failure' in look) {
      const change = failureOf(look.failure);
      if (failed !== change.line) await write(printed(change, format, now));
      failed = change.line;
      return;
    }
    const items = look.output.items ?? [];
    const found = new Map(
      items.map((item) => [item.about, format === 'table' ? item.line : JSON.stringify(item.data)]),
    );
    const answered = failed === undefined ? [] : [answeredAgain];
    for (const change of [...answered, ...changesOf(items, known, found)]) await write(printed(change, format, now));
    [known, failed] = [found, undefined];
  };
}

const answeredAgain: Change = { change: 'answered', about: 'kcover', line: 'there are answers again', data: null };

/** Why a look failed, in one line. */
export const reasonOf = ({ code, message, because }: KcoverError): string => `error[${code}]: ${message}: ${because}`;

const failureOf = (failure: KcoverError): Change => {
  const { code, message: what, because, advice } = failure;
  return { change: 'failed', about: 'kcover', line: reasonOf(failure), data: { code, what, because, try: advice } };
};

function changesOf(
  items: readonly WatchedItem[],
  before: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): readonly Change[] {
  const gone = [...before.keys()].filter((about) => !found.has(about));
  return [
    ...items
      .filter(({ about }) => before.get(about) !== found.get(about))
      .map((item): Change => ({ ...item, change: before.has(item.about) ? 'changed' : 'new' })),
    ...gone.map((about): Change => ({ change: 'gone', about, line: `${about}   no longer listed`, data: null })),
  ];
}

function printed({ change, about, line, data }: Change, format: OutputFormat, now: number): string {
  if (format === 'table') return `${clockTime(now, now)}   ${oneLine(line, lineLength)}\n`;
  const document = { at: new Date(now).toISOString(), change, about, data };
  return format === 'json' ? `${escapeUnseen(JSON.stringify(document))}\n` : `---\n${yaml(document)}`;
}

const lineLength = 20_000;

import { randomUUID } from 'node:crypto';
import { open, rename, unlink } from 'node:fs/promises';
import { KcoverError } from '../../contract/errors.ts';
import { oneLine } from '../../contract/text.ts';
import type { CommandEntry } from '../program/command.ts';

export const recordsExport: CommandEntry = {
  summary: 'Print the records of a worker as JSON lines, oldest first: one incident a line, for archives and analysis.',
  arguments: [],
  options: [
    {
      flags: '--records <directory>',
      describe: "The worker's records.directory, or a copy of it",
      byDefault: '/var/lib/kcover/records',
    },
    {
      flags: '--since <duration>',
      describe: 'Leave out what ended longer ago than this, such as 30d; everything otherwise',
    },
    {
      flags: '--to <file>',
      describe: 'Write them to this file, which appears when it is complete; stdout otherwise',
    },
  ],
  examples: [
    'kcover records export --since 30d --records ./records | jq -r .outcome | sort | uniq -c',
    'kcover records export --to incidents.jsonl',
  ],
  exits: [],
  async run(typed, { environment, now }) {
    const { exportRecords } = await import('../incidents/export.ts');
    const { sinceOf } = await import('../incidents/index.ts');
    const since = sinceOf(typed.option('since'), now);
    const to = typed.option('to');
    const all = (write: (line: string) => Promise<void>) => exportRecords(typed.value('records'), since, write);
    const { written, unread } = to === undefined ? await all(environment.writeOut) : await intoFile(to, all);
    for (const { file, because } of unread)
      environment.stderr.write(`not exported: ${oneLine(file, 300)}: ${oneLine(because, 300)}\n`);
    if (to !== undefined || unread.length > 0)
      environment.stderr.write(`${written} ${written === 1 ? 'record' : 'records'} exported\n`);
    return unread.length > 0 ? 'failed' : 'ok';
  },
};

/** A reader of the file never sees a part of it. */
async function intoFile<T>(path: string, fill: (write: (text: string) => Promise<void>) => Promise<T>): Promise<T> {
  const draft = `${path}.${randomUUID().slice(0, 8)}.part`;
  try {
    // Records name people and jobs: owner and group only.
    const file = await open(draft, 'wx', 0o640).catch(unwritable);
    try {
      const filled = await fill((text) => file.writeFile(text).catch(unwritable));
      await file.sync().catch(unwritable);
      await rename(draft, path).catch(unwritable);
      return filled;
    } finally {
      await file.close();
    }
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    throw error;
  }

  function unwritable(error: unknown): never {
    const why = error instanceof Error ? error.message : 'unknown failure';
    throw new KcoverError('records.unwritable', `${path}: ${why}`, {
      what: 'the export cannot be written',
      remedy: 'name another file with --to, or none for stdout',
    });
  }
}

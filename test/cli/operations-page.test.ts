import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { eventReasons } from '../../contract/ids.ts';
import { buildProgram } from '../../cli/program/program.ts';

const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

describe('the page for operators', () => {
  it('explains every Event reason, and names no unknown one', () => {
    const [, section = ''] = page.split('### Events\n');
    const table = section.split(/\n#+ /, 1)[0] ?? '';
    const named = [...table.matchAll(/`([A-Z]\w+)`/g)].map(([, reason]) => reason);
    expect(new Set(named)).toEqual(new Set(Object.values(eventReasons)));
  });

  it('uses only existing commands', async () => {
    const typed = [...page.matchAll(/`kcover ((?:node |preflight )?[a-z]+)(?=[ `])/g)].map(([, words = '']) =>
      words.split(' '),
    );
    const program = buildProgram({ version: '0', programName: 'kcover', stdout: process.stdout }, () =>
      Promise.resolve(),
    );
    const unknown = typed.filter(
      ([first, second]) =>
        !program.commands.some(
          (command) =>
            command.name() === first && (!second || command.commands.some((below) => below.name() === second)),
        ),
    );
    expect(typed.length).toBeGreaterThan(20);
    expect(unknown.map((words) => words.join(' '))).toEqual([]);
  });
});

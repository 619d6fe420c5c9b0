import { faultSources, type SourceTraits } from '../../contract/faults/sources.ts';
import { generated, markdownTable } from './markdown.ts';

/** Every source of faults, with what each needs. */
export const sourcesPage = (): string =>
  [
    generated('contract/faults/sources.ts'),
    '# What kcover sees',
    'Every fault has a source, and a code of that source. What is not in this table is not seen. A source that cannot observe says so, in the status of its agent, in a metric or in an Event; that is never a fault.',
    markdownTable(
      ['source', 'what it observes', 'what it needs', 'reported by'],
      rows(([name, { observes, needs, reporter }]) => [`\`${name}\``, observes, needs, reporter]),
    ),
    '## What its faults mean',
    '`about` says what a fault concerns: a fault of a node concerns every job that has pods there. The action of a code leads to the response in `faults.responses` of the worker; `faults.codes` gives a code a response of its own ([settings](settings.md)). Where no action is listed, the catalogue of the source has one for each code, or the code only warns. `kcover classify` says what a line, a Node, a log or the output of a tool would lead to.',
    markdownTable(
      ['source', 'codes', 'about', 'actions of its codes', 'blame, unless action or code say more'],
      rows(([name, { codes, about, actions, blame }]) => [
        `\`${name}\``,
        `\`${codes.source}\``,
        about,
        Object.entries(actions ?? {})
          .map(([code, action]) => `\`${code}\` ${action}`)
          .join(', '),
        blame,
      ]),
    ),
  ]
    .join('\n\n')
    .trimEnd() + '\n';

const rows = (row: (entry: readonly [string, SourceTraits]) => readonly string[]): readonly (readonly string[])[] =>
  Object.entries<SourceTraits>(faultSources).map(row);

import { errorCatalogue } from '../../contract/errors.ts';
import { generated, markdownTable } from './markdown.ts';

const kinds = { transient: 'tried again', permanent: 'not tried again' } as const;

/** Every error of the catalogue. */
export const errorsPage = (): string =>
  [
    generated('contract/errors.ts'),
    '# Errors',
    'Every error has a code, says what happened and why, and what to try. In Temporal the code is the failure type; in a log it is the field `code`.',
    markdownTable(
      ['code', 'what', 'then', 'try'],
      Object.entries(errorCatalogue).map(([code, { what, kind, remedy: advice }]) => [
        `\`${code}\``,
        what,
        kinds[kind],
        advice,
      ]),
    ),
    '',
  ]
    .join('\n\n')
    .trimEnd() + '\n';

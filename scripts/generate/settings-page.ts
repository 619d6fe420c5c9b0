import { type Field, fieldsOf, written } from '../../cli/settings/fields.ts';
import { roles, settingsSchemas } from '../../cli/settings/file.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import { longestWaitMs } from '../../contract/settings/values.schema.ts';
import { generated, markdownTable } from './markdown.ts';

/** Every setting of every role. */
export const settingsPage = (): string =>
  [
    generated('contract/settings/settings.schema.ts'),
    '# Settings',
    'One YAML file for each role, given by `--config`. Every setting has a default, so an empty file, or none, is a good start. A key that is not listed here is an error, and so is a value of another type: the process does not start. A duration is written `500ms`, `30s`, `10m`, `1h` or `7d`; it is at most ' +
      `\`${formatDuration(longestWaitMs)}\` unless stated otherwise, because no timer can wait longer.`,
    '`kcover config check ROLE FILE` says what is wrong with a file, and prints the effective settings.',
    ...roles.flatMap((role) => [
      `## kcover ${role}`,
      markdownTable(['setting', 'value', 'default', 'meaning'], fieldsOf(settingsSchemas[role]).map(row)),
    ]),
    '',
  ]
    .join('\n\n')
    .trimEnd() + '\n';

const row = ({ path, type, byDefault, describe }: Field): readonly string[] => [
  `\`${path.join('.')}\``,
  type,
  byDefault === undefined ? '' : `\`${written(byDefault)}\``,
  describe ?? '',
];

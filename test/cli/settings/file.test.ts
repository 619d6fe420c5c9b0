import { describe, expect, it } from '@jest/globals';
import { Findings } from '../../../cli/program/exit.ts';
import { effectiveSettings, type Field, fieldsOf } from '../../../cli/settings/fields.ts';
import { parseSettings, type RoleName, roles, settingsSchemas } from '../../../cli/settings/file.ts';

function reportOf(role: RoleName, text: string): string {
  try {
    parseSettings(role, 'kcover.yaml', text);
  } catch (error) {
    if (error instanceof Findings) return error.report;
    throw error;
  }
  return 'nothing is wrong';
}

const wrong: readonly {
  readonly sentence: string;
  readonly role?: RoleName;
  readonly text: string;
  readonly report: readonly string[];
}[] = [
  {
    sentence: 'an unknown key is reported with the nearest known one',
    text: 'quarantine:\n  cordn: true\n',
    report: [
      'error[settings.invalid]: quarantine.cordn is not a setting',
      '  because: kcover.yaml:2:3',
      '    2 |   cordn: true',
      '      |   ^^^^^',
      '  try:     cordon',
    ],
  },
  {
    sentence: 'an unknown key far from all others is reported with the known keys of its group',
    text: 'records: { bucket: x }\n',
    report: [
      'error[settings.invalid]: records.bucket is not a setting',
      '  because: kcover.yaml:1:12',
      '    1 | records: { bucket: x }',
      '      |            ^^^^^^',
      '  try:     one of directory, keep, most, share',
    ],
  },
  {
    sentence: 'a value of the wrong type is reported with the right type and an example',
    text: '# limits\n\nquarantine:\n  limit: { atLeast: many }\n',
    report: [
      'error[settings.invalid]: quarantine.limit.atLeast must be a whole number, at least 0',
      '  because: kcover.yaml:4:21',
      '    4 |   limit: { atLeast: many }',
      '      |                     ^^^^',
      '  try:     atLeast: 2',
    ],
  },
  {
    sentence: 'a pattern for logs that may not take linear time is reported with how to write one',
    role: 'controller',
    text: 'progress: { logs: { step: "(a)\\\\1 (?<step>[0-9]+)" } }\n',
    report: [
      'error[settings.invalid]: progress.logs.step must be a pattern that kcover can use: \\1 is not allowed',
      '  because: kcover.yaml:1:27',
      '    1 | progress: { logs: { step: "(a)\\\\1 (?<step>[0-9]+)" } }',
      '      |                           ^^^^^^^^^^^^^^^^^^^^^^^^',
      "  try:     write literal text, classes such as [0-9], and one group: 'at (?<step>[0-9]+)'",
    ],
  },
  {
    sentence: 'a number out of its range is reported with the range',
    text: 'quarantine: { limit: { percent: 101 } }\n',
    report: [
      'error[settings.invalid]: quarantine.limit.percent must be a number from 0 to 100',
      '  because: kcover.yaml:1:33',
      '    1 | quarantine: { limit: { percent: 101 } }',
      '      |                                 ^^^',
      '  try:     percent: 10',
    ],
  },
  {
    sentence: 'times of the leader election that do not fit together are shown where they stand',
    role: 'controller',
    text: 'leaderElection:\n  lease: 15s\n  renew: 20s\n',
    report: [
      'error[settings.invalid]: leaderElection.renew must be shorter than lease: 20s is not below 15s',
      '  because: kcover.yaml:3:10',
      '    3 |   renew: 20s',
      '      |          ^^^',
      '  try:     retry < renew < lease',
    ],
  },
  {
    sentence: 'a misspelt value is reported with the nearest known one',
    text: 'mode: akt\n',
    report: [
      'error[settings.invalid]: mode must be one of observe, act',
      '  because: kcover.yaml:1:7',
      '    1 | mode: akt',
      '      |       ^^^',
      '  try:     act',
    ],
  },
  {
    sentence: 'an invalid duration is reported with a valid one',
    text: 'recovery:\n  correlation: 5 seconds\n',
    report: [
      'error[settings.invalid]: recovery.correlation must be a duration such as 500ms, 30s, 10m or 1h',
      '  because: kcover.yaml:2:16',
      '    2 |   correlation: 5 seconds',
      '      |                ^^^^^^^^^',
      '  try:     correlation: 500ms',
    ],
  },
  {
    sentence: 'a duration too long for a timer is reported with the longest one',
    text: 'recovery:\n  deadlines: { hold: 25d }\n',
    report: [
      'error[settings.invalid]: recovery.deadlines.hold must be at most 20d',
      '  because: kcover.yaml:2:22',
      '    2 |   deadlines: { hold: 25d }',
      '      |                      ^^^',
      '  try:     20d',
    ],
  },
  {
    sentence: 'a scalar in place of a mapping is reported',
    text: 'temporal: kcover\n',
    report: [
      'error[settings.invalid]: temporal must be a mapping',
      '  because: kcover.yaml:1:11',
      '    1 | temporal: kcover',
      '      |           ^^^^^^',
      '  try:     temporal: { taskQueue: ... }',
    ],
  },
  {
    sentence: 'a key without a value is pointed at by its key',
    text: 'log:\n',
    report: [
      'error[settings.invalid]: log must be a mapping',
      '  because: kcover.yaml:1:1',
      '    1 | log:',
      '      | ^^^',
      '  try:     log: { level: ... }',
    ],
  },
  {
    sentence: 'a fault code of the wrong form is reported at its place',
    text: 'faults:\n  codes:\n    xid79: warn\n',
    report: [
      'error[settings.invalid]: faults.codes.xid79 is not a valid key here',
      '  because: kcover.yaml:3:5',
      '    3 |     xid79: warn',
      '      |     ^^^^^',
      '  try:     a code such as xid/79 or sxid/20034',
    ],
  },
  {
    sentence: 'a missing value is reported at the place of its group',
    role: 'controller',
    text: 'intake:\n  tls: { certFile: /tls.crt }\n',
    report: [
      'error[settings.invalid]: intake.tls.keyFile is missing',
      '  because: kcover.yaml:2:3',
      '    2 |   tls: { certFile: /tls.crt }',
      '      |   ^^^',
      '  try:     keyFile: text',
    ],
  },
  {
    sentence: 'a duplicate key is an error',
    text: 'mode: act\nmode: observe\n',
    report: [
      'error[settings.invalid]: this key is set twice',
      '  because: kcover.yaml:2:1',
      '    2 | mode: observe',
      '      | ^^^^',
      '  try:     keep one of them',
    ],
  },
  {
    sentence: 'a tab that indents keeps the caret under it',
    text: 'log:\n\tlevel: info\n',
    report: [
      'error[settings.invalid]: this is not YAML: Tabs are not allowed as indentation',
      '  because: kcover.yaml:2:1',
      '    2 | \tlevel: info',
      '      | ^',
      '  try:     quote text that holds : # or brackets, and indent with spaces',
    ],
  },
  {
    sentence: 'an alias without its anchor is reported at its place',
    text: 'mode: act\nlog: *quiet\n',
    report: [
      'error[settings.invalid]: Unresolved alias (the anchor must be set before the alias): quiet',
      '  because: kcover.yaml:2:6',
      '    2 | log: *quiet',
      '      |      ^^^^^^',
      '  try:     write the value out',
    ],
  },
  {
    sentence: 'a file that is no mapping is reported with an example',
    text: 'act\n',
    report: [
      'error[settings.invalid]: the file must be a mapping',
      '  because: kcover.yaml:1:1',
      '    1 | act',
      '      | ^^^',
      '  try:     KEY: VALUE on each line, or an empty file for all defaults',
    ],
  },
];

describe('a settings file', () => {
  it.each(wrong)('$sentence', ({ role = 'worker', text, report }) => {
    expect(reportOf(role, text).split('\n')).toEqual(report);
  });

  it('has all its problems reported at once, from top to bottom', () => {
    const report = reportOf('worker', 'log: { level: loud }\nmode: go\nhealth: { listen: 9090 }\n');
    expect(report.split('\n\n').map((each) => each.split('\n')[1])).toEqual([
      '  because: kcover.yaml:1:15',
      '  because: kcover.yaml:2:7',
      '  because: kcover.yaml:3:19',
    ]);
  });

  it('is refused with exponentially nested aliases', () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...['b', 'c', 'd', 'e', 'f'].map(
        (key, index) => `${key}: &${key} [${Array(9).fill(`*${'abcdef'[index]}`).join(',')}]`,
      ),
    ].join('\n');
    expect(reportOf('worker', bomb)).toContain('Excessive alias count');
  });

  it.each(roles)('may be empty for the %s', (role) => {
    expect(reportOf(role, '')).toBe('nothing is wrong');
    expect(reportOf(role, '# nothing but a comment\n')).toBe('nothing is wrong');
  });

  it('is read with its durations in milliseconds', () => {
    expect(
      parseSettings('worker', 'f', 'recovery: { deadlines: { stop: 90m } }').settings.recovery.deadlines.stop,
    ).toBe(5_400_000);
  });

  it.each(roles)('of the %s has an upper limit for every duration', (role) => {
    const durations = fieldsOf(settingsSchemas[role]).filter(({ type }) => type === 'a duration');
    expect(durations.length).toBeGreaterThan(2);
    const endless = ({ path }: Field) =>
      JSON.stringify(path.reduceRight<unknown>((below, key) => ({ [key]: below }), '3651d'));
    expect(
      durations.filter((field) => !reportOf(role, endless(field)).includes(`${field.path.join('.')} must be at most`)),
    ).toEqual([]);
  });

  it.each(roles)('of the %s reads its own effective settings back as the same settings', (role) => {
    const { schema, settings } = parseSettings(role, 'f', '');
    const printed = effectiveSettings(schema, undefined);
    expect(parseSettings(role, 'f', JSON.stringify(printed)).settings).toEqual(settings);
  });
});

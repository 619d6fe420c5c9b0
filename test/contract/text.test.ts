import type { V1Pod } from '@kubernetes/client-node';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { print, properties, table } from '../../cli/program/output.ts';
import { htmlOf } from '../../cli/report/html.ts';
import { markdownOf } from '../../cli/report/markdown.ts';
import { list, type Page, quote, table as tableOf } from '../../cli/report/page.ts';
import { inMarkdown, oneLine, printable, withoutEscapes } from '../../contract/text.ts';
import { foreignText } from '../../faults/foreign-text.ts';
import { builtInPatterns } from '../../faults/redaction/built-in.ts';
import { redactLines } from '../../faults/redaction/log.ts';
import { eventOf } from '../../kube/events/events.ts';
import { finishedBy } from '../../kube/jobs/kinds/view.ts';
import { podFailures } from '../../kube/pods/failures.ts';
import { quarantineEdit } from '../../kube/nodes/quarantine.ts';
import { detailsOf } from '../../workflows/attributes.ts';
import { short } from '../../workflows/proxies.ts';
import { job } from '../support/builders.ts';

const secret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'.toLowerCase();
/** Sequences that control a terminal, a log viewer or a page. */
const hostile = [
  'loss is nan',
  '\u001B]0;pwned\u0007',
  '\u001B[31mred\u001B[0m',
  '\u001B]8;;https://evil.example\u001B\\click\u001B]8;;\u001B\\',
  '\u009B31mC1\u009Dtitle\u009C',
  'a\u202Eb\u2066c',
  'zero\u200Bwidth\u{E0041}',
  'lone\uD800surrogate',
  'next\u2028line\u0085',
  'bell\u0007\u0000',
  '[restart](https://evil.example) <img src=x> | cell ` tick',
].join('\n');
const hostilePage: Page = {
  title: hostile,
  intro: [[{ strong: hostile }]],
  sections: [
    { title: 'a', blocks: [tableOf(['a'], [[hostile]]), list([[{ code: hostile }]]), quote(hostile.split('\n'))] },
  ],
};
/** Characters that no output may contain. */
const steers = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

const pod = (status: V1Pod['status']): V1Pod => ({
  metadata: { name: 'llm-0', uid: 'u1', creationTimestamp: new Date('2026-11-21T07:00:00Z') },
  spec: { containers: [], nodeName: 'gpu-1' },
  ...(status && { status }),
});
const withSecret = `AWS_SECRET_ACCESS_KEY=${secret}\n${hostile}`;
const terminated = { exitCode: 1, reason: 'Error', message: withSecret, finishedAt: new Date('2026-11-21T07:09:03Z') };
const messageOf = (status: V1Pod['status']): string =>
  podFailures(pod(status), { isRank: () => true })[0]?.message ?? '';

const oneLines: readonly [string, string][] = [
  ['text of a tenant', foreignText(withSecret)],
  [
    'a termination message',
    messageOf({
      phase: 'Failed',
      containerStatuses: [{ name: 'c', image: '', imageID: '', ready: false, restartCount: 0, state: { terminated } }],
    }),
  ],
  [
    'a condition of a pod',
    messageOf({
      conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler', message: withSecret }],
    }),
  ],
  ['an eviction', messageOf({ phase: 'Failed', reason: 'Evicted', message: withSecret })],
  ['the reason of a failed pod', messageOf({ phase: 'Failed', reason: 'Odd', message: withSecret })],
  [
    'a condition of a job',
    finishedBy([{ type: 'Failed', status: 'True', reason: 'x', message: withSecret }], 'Complete', 'Failed')?.because ??
      '',
  ],
];

describe('text of a tenant becomes one clean line without its secrets', () => {
  it.each(oneLines)('in %s', (_, text) => {
    expect(text).toMatch(/AWS_SECRET_ACCESS_KEY=\[redacted: password\] .*loss is nan.*click/);
    expect(text).not.toContain(secret);
    expect(text).not.toMatch(steers);
    expect(text).not.toMatch(/\n|pwned/);
  });
});

describe('no output contains terminal escape sequences', () => {
  const announcement = {
    about: { kind: 'job', job },
    type: 'Normal',
    reason: 'JobRecovered',
    message: hostile,
    key: 'k',
  } as const;
  const node = { metadata: { name: 'n' } };
  const settings = { taint: { key: 'k', effect: 'NoSchedule' }, cordon: false } as const;
  const annotated =
    quarantineEdit(node, { incident: 'i', reason: 'xid-79', because: hostile }, settings)?.annotations ?? {};
  it.each<[string, string]>([
    ['one line', oneLine(hostile, 500)],
    ['an Event', eventOf(announcement, 0).message],
    ['the reason of a quarantine', Object.values(annotated).join(' ')],
    ['a table', table(['a'], [[hostile]])],
    ['a list', properties([['a', hostile]])],
    ['an answer for people', print({ data: {}, text: hostile }, 'table')],
    ['JSON', print({ data: { hostile }, text: '' }, 'json')],
    ['YAML', print({ data: { hostile }, text: '' }, 'yaml')],
    ['an error', printable(hostile)],
    ['evidence', redactLines(hostile.split('\n'), builtInPatterns).lines.join('\n')],
    ['the report as Markdown', markdownOf(hostilePage)],
    ['the report as HTML', htmlOf(hostilePage, [])],
    ['a summary in the Temporal UI', short(hostile)],
    ['details in the Temporal UI', detailsOf('llm', [['because', hostile]])],
  ])('%s', (_, text) => {
    expect(text).not.toMatch(steers);
    expect(text).toContain('loss is nan');
  });

  it('and JSON and YAML keep the data as it is', () => {
    const data = { hostile: hostile.toWellFormed() };
    expect(JSON.parse(print({ data, text: '' }, 'json'))).toEqual(data);
    expect(parse(print({ data, text: '' }, 'yaml'))).toEqual(data);
  });
});

describe('text in the Temporal UI and in a report', () => {
  it.each([
    ['a link', '[restart](https://evil.example)', '\\[restart\\](https\\://evil.example)'],
    ['a bare address', 'see www.evil.example', 'see www\\.evil.example'],
    ['HTML', '<img src=x onerror=y>', '\\<img src=x onerror=y\\>'],
    ['a column', 'a | b', 'a \\| b'],
    ['emphasis and code', '*a* `b`', '\\*a\\* \\`b\\`'],
  ])('shows %s as text', (_, text, shown) => {
    expect(inMarkdown(text)).toBe(shown);
  });

  it('stays in its row of the details', () => {
    const page = detailsOf('job [x](y)', [['because', hostile]]);
    expect(page.split('\n')).toHaveLength(5);
    expect(page).toContain('**job \\[x\\](y)**');
    expect(page).toContain('\\[restart\\](https\\://evil.example) \\<img src=x\\> \\| cell \\` tick |');
  });

  it('is short enough for a summary also in letters of three bytes', () => {
    for (const text of ['节'.repeat(500), '*'.repeat(500), '🚀'.repeat(300), 'a'.repeat(500)])
      expect(Buffer.byteLength(short(text))).toBeLessThanOrEqual(400);
  });
});

describe('a line of a log', () => {
  it('keeps its tabs, its progress bar and its pictures, and loses its colours', () => {
    expect(withoutEscapes('\u001B[32m 12%|█▏  |\r 13%|█▎  |\u001B[0m\tok 👩‍🚀')).toBe(' 12%|█▏  |\r 13%|█▎  |\tok 👩‍🚀');
  });

  it('is one line of bounded length for a message, whatever comes', () => {
    expect(oneLine(`a\r\nb${'x'.repeat(100)}`, 10)).toBe('a bxxxxxxx');
    expect(oneLine('\u001B]0;never closed', 50)).toBe('0;never closed');
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { formatDuration } from '../../../contract/settings/duration.ts';
import { workerSettings } from '../../../contract/settings/settings.schema.ts';
import { builtInRules } from '../../../policy/node/rules/index.ts';
import type { Match, Rule } from '../../../policy/node/rules/rule.ts';

const page = readFileSync(new URL('../../../docs/judgement.md', import.meta.url), 'utf8');

const codesOf = ({ codes, actions }: Match): string =>
  `${codes.map((code) => `\`${code}\``).join(', ')}${actions ? ` (${actions.join(', ')})` : ''}`;

function whenOf(rule: Rule): string {
  switch (rule.kind) {
    case 'repeat':
      if (rule.count === 1) return 'each';
      return `${rule.count} bursts ${formatDuration(rule.gap)} apart in ${formatDuration(rule.within)}, by ${rule.by}${rule.alone ? ', and at no other' : ''}`;
    case 'lasting':
      return `for ${formatDuration(rule.atLeast)} with no pause of ${formatDuration(rule.gap)}, by ${rule.by}`;
    case 'consequence':
      return `within ${formatDuration(rule.within)} of ${codesOf(rule.causes)}, on the ${rule.on === 'node' ? 'node' : rule.on === 'device' ? 'same device' : 'node, on another device'}`;
    case 'cancel':
      return 'on the same device';
  }
}

function effectOf(rule: Rule): string {
  if (rule.kind === 'cancel') return `takes back ${rule.cancels.map((code) => `\`${code}\``).join(', ')}`;
  if (rule.kind === 'consequence') return `consequence: ${rule.because}`;
  return `\`${rule.effects.join('`, `')}\`: ${rule.because}`;
}

const rowOf = (rule: Rule): string =>
  `| \`${rule.name}\` | ${codesOf(rule.of)} | ${whenOf(rule)} | ${effectOf(rule)} |`;

describe('the page about judgement', () => {
  it('has a row for each rule, and no other', () => {
    const [, table = ''] = page.split('| rule | faults | when | effect |\n| --- | --- | --- | --- |\n');
    expect(table.split('\n\n')[0]?.split('\n')).toEqual(builtInRules.map(rowOf));
  });

  it('shows settings that can be used', () => {
    const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
    const { faults } = workerSettings.parse(parse(example));
    expect(faults.rules.map(({ name }) => name)).toEqual(['xid-31-same-gpu', 'xid-45-often']);
    expect(faults.suppressions).toHaveLength(1);
  });
});

import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { fieldsOf } from '../../cli/settings/fields.ts';
import { recoverySettings } from '../../contract/recovery/settings.schema.ts';
import { workerSettings } from '../../contract/settings/settings.schema.ts';
import { overridesOf } from '../../kube/jobs/overrides.ts';
import { jobPolicy } from '../../policy/job/policy.ts';
import {
  annotationExamples,
  settingExamples,
  referenceExamples,
  type OverrideExample,
} from '../../scripts/generate/policy-examples.ts';
import { settingExample } from '../../scripts/generate/policy-page.ts';

const fields = fieldsOf(recoverySettings).map(({ path }) => path);
const byDefault = workerSettings.parse({}).recovery;

const at = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[key] : undefined),
    value,
  );

describe('the examples of the policy page', () => {
  it('cover every setting of a recovery once', () => {
    expect(Object.keys(settingExamples).toSorted()).toEqual(fields.map((path) => path.join('.')).toSorted());
  });

  it.each(fields.map((path) => [path.join('.'), path] as const))(
    'set recovery.%s to a value that is not its default, and nothing else',
    (name, path) => {
      const [value = ''] = settingExamples[name] ?? [];
      const { recovery } = workerSettings.parse(parse(settingExample(path, value)));
      expect(at(recovery, path)).not.toEqual(at(byDefault, path));
      const others = fields.filter((other) => other !== path);
      expect(others.map((other) => at(recovery, other))).toEqual(others.map((other) => at(byDefault, other)));
    },
  );

  const asAnnotations = Object.entries(annotationExamples).map(([override, { example }]) => ({
    override,
    example,
    places: [{ annotations: example }],
  }));
  const asLabels = Object.entries(referenceExamples).map(([override, { example }]) => ({
    override,
    example,
    places: [{ labels: example }, { annotations: example }],
  }));
  it.each(
    [...asAnnotations, ...asLabels].map(
      ({ override, example, places }) => [Object.keys(example)[0] ?? '', override, places] as const,
    ),
  )('use %s with a valid value that the settings allow', (_key, override, places) => {
    for (const metadata of places) {
      const asked = overridesOf(metadata);
      expect(asked).toMatchObject({ ignored: [] });
      expect(Object.keys(asked ?? {})).toContain(meaningOf(override));
      expect(jobPolicy(asked, byDefault).ignored).toEqual([]);
    }
  });

  it('name the setting that limits each override, where there is one', () => {
    const limits = (table: Readonly<Record<string, OverrideExample>>) =>
      Object.values(table).flatMap(({ limit }) => limit ?? []);
    const known = fields.filter(([group]) => group === 'jobMay').map((path) => ['recovery', ...path].join('.'));
    expect(limits(annotationExamples).toSorted()).toEqual(known.toSorted());
    expect(known).toEqual(expect.arrayContaining(limits(referenceExamples)));
  });
});

/** The reference system's name for one of our overrides. */
const meaningOf = (override: string): string => ({ elastic: 'capacity', podLevel: 'level' })[override] ?? override;

import { type Field, fieldsOf, peel, type Schema, shapeOf, written } from '../../cli/settings/fields.ts';
import { labels } from '../../contract/ids.ts';
import { referenceOverrides, overrideAnnotations } from '../../contract/job/job-overrides.ts';
import { recoverySettings } from '../../contract/recovery/settings.schema.ts';
import { generated, markdownTable } from './markdown.ts';
import { annotationExamples, settingExamples, referenceExamples, type OverrideExample } from './policy-examples.ts';

/** Everything that decides a recovery: the operator's settings, and the overrides of a job. */
export const policyPage = (): string =>
  [
    generated(
      'contract/recovery/settings.schema.ts, contract/job/job-overrides.ts and scripts/generate/policy-examples.ts',
    ),
    '# Policy of a recovery',
    "What decides how a job is recovered: `recovery` in the worker's [settings](settings.md), and what the job asks for by its annotations, as far as the operator lets it. What each step does with it: [recovery](../recovery.md). `kcover plan JOB` says what would be done now, and `kcover config check worker FILE` what a file leads to.",
    'Not here, but part of it: `mode` (observe or act), `faults.responses` and `faults.codes` (which faults lead to anything at all) and `preflight.slow` of the worker, and `progress.hang` and `progress.slow` of the controller (when training counts as stalled, or as slow). Where faults come from: [sources](sources.md).',
    '## What the operator says',
    'Each example is a whole file: one setting, and the default of all others.',
    ...groups().flatMap(([name, describe, fields]) => [
      `### ${name}`,
      ...(describe === undefined ? [] : [`${describe}.`]),
      markdownTable(
        ['setting', 'value', 'default', 'meaning', 'example', 'what it does'],
        fields.map((field) => settingRow(field, describe)),
      ),
    ]),
    '## What a job asks for',
    `Annotations of the job object; those of its pod template do not count. The job opts in by the label \`${labels.cascadingRecovery}: "true"\` ([concepts](../concepts.md)); without it nothing here means anything.`,
    overrideTable(annotationExamples, overrideAnnotations),
    '### In the words of the reference systems',
    'Labels of the job object, or annotations where there is no such label.',
    overrideTable(referenceExamples, referenceOverrides),
    '### What counts',
    [
      '1. A request beyond its limit is ignored; the setting of the operator holds. A number above the limit counts as the limit.',
      '2. Where an annotation of kcover and a label of a reference system differ, the annotation counts.',
      `3. A value that is not understood is ignored. Of sizes (\`${overrideAnnotations.minReplicas}\`, \`${overrideAnnotations.allowedSizes}\`) it means that the job gets no smaller one, unless the label of the reference project beside it is understood.`,
      `4. \`${overrideAnnotations.capacity}: shrink\` without \`${overrideAnnotations.minReplicas}\` or \`${overrideAnnotations.allowedSizes}\` is ignored. Sizes below the least number are ignored; where none is left, the job gets no smaller size.`,
      `5. \`${overrideAnnotations.checkpoint}: on-termination\` beside \`${overrideAnnotations.mode}: force\` is ignored: there is no time to save.`,
      `6. \`${overrideAnnotations.hang}: ignore\` also stops the controller from reporting hangs of the job, whatever \`recovery.jobMay.hang\` says.`,
    ].join('\n'),
    'Every ignored request is reported by a sentence in the plan of the incident (`ignored`), for example `kcover.io/mode "gentle" is none of grace, force, off`.',
    'A person is never limited by any of this: `kcover recover` restarts the whole job now, also in mode off and beyond the budget, and waits for no checkpoint. Without capacity its pods wait for the scheduler. Only a pause holds it.',
  ]
    .join('\n\n')
    .trimEnd() + '\n';

/** Top-level settings first, then each group in the order of the schema. */
function groups(): readonly (readonly [name: string, describe: string | undefined, fields: readonly Field[]])[] {
  const fields = fieldsOf(recoverySettings);
  const shape = shapeOf(recoverySettings) ?? {};
  const named = Object.entries(shape).filter(([, schema]) => shapeOf(schema) !== undefined);
  return [
    ['recovery', undefined, fields.filter(({ path }) => path.length === 1)],
    ...named.map(
      ([name, schema]) =>
        [
          `recovery.${name}`,
          describeOf(schema),
          fields.filter(({ path }) => path.length > 1 && path[0] === name),
        ] as const,
    ),
  ];
}

const describeOf = (schema: Schema): string | undefined => peel(schema).describe;

function settingRow({ path, type, byDefault, describe }: Field, ofGroup: string | undefined): readonly string[] {
  const example = settingExamples[path.join('.')];
  if (!example) throw new Error(`recovery.${path.join('.')} has no example in scripts/generate/policy-examples.ts`);
  const [value, does] = example;
  return [
    `\`${path.join('.')}\``,
    type,
    byDefault === undefined ? '' : `\`${written(byDefault)}\``,
    describe === ofGroup ? '' : (describe ?? ''),
    `\`${settingExample(path, value)}\``,
    does,
  ];
}

/** A whole settings file on one line. */
export const settingExample = (path: readonly string[], value: string): string =>
  `recovery: ${path.reduceRight((inner, key) => `{ ${key}: ${inner} }`, value)}`;

const overrideTable = <K extends string>(
  overrides: Readonly<Record<K, OverrideExample>>,
  names: Readonly<Record<K, string>>,
): string =>
  markdownTable(
    ['name', 'value', 'meaning', 'limited by', 'example', 'what it does'],
    (Object.keys(overrides) as K[]).map((override) => {
      const { values, means, limit, example, does } = overrides[override];
      const said = Object.entries(example).map(([key, value]) => `\`${key}: "${value}"\``);
      return [
        `\`${names[override]}\``,
        values,
        means,
        limit === undefined ? '' : `\`${limit}\``,
        said.join(', '),
        does,
      ];
    }),
  );

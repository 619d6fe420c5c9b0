import { z } from 'zod';
import { roles, settingsSchemas, type RoleName } from '../../cli/settings/file.ts';
import { parseDuration } from '../../contract/settings/duration.ts';
import { chartValues } from './chart-values.ts';

/** The part of JSON Schema that is used here. */
interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  [keyword: string]: unknown;
}

/** Settings that follow from the release or from other values; helm refuses values that set one of them. */
const fromTheRelease: Readonly<Record<RoleName, readonly string[]>> = {
  worker: ['temporal', 'records.directory', 'recovery.evidence.directory', 'health'],
  controller: [
    'temporal',
    'taint',
    'intake.listen',
    'intake.tls',
    'intake.audience',
    'intake.agentAccount',
    'leaderElection.namespace',
    'leaderElection.name',
    'health',
  ],
  agent: ['controller', 'spool.directory', 'statusFile', 'health'],
};

/** Text that the program accepts as a duration; its own schema checks that by a function. */
const durationPattern = String.raw`^\s*(\d+(\.\d+)?(ms|s|m|h|d))+\s*$`;
const agePattern = String.raw`^\s*((\d+(\.\d+)?(ms|s|m|h|d))+|forever)\s*$`;

/** JSON Schema of the chart's values; helm refuses all others. */
export function chartSchema(): string {
  const schema = jsonOf(chartValues);
  const settings = schema.properties?.['settings'];
  if (settings) settings.properties = Object.fromEntries(roles.map((role) => [role, settingsOf(role)]));
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function settingsOf(role: RoleName): JsonSchema {
  const { $schema: _, ...schema } = jsonOf(settingsSchemas[role]);
  for (const path of fromTheRelease[role]) remove(schema, path.split('.'));
  return {
    ...schema,
    description: `Settings of kcover ${role} (docs/reference/settings.md), without those that the chart itself decides`,
  };
}

/** Removes a property, and its group when that becomes empty. */
function remove(schema: JsonSchema, [first, ...rest]: readonly string[]): void {
  const below = first === undefined ? undefined : schema.properties?.[first];
  if (first === undefined || !below) throw new Error(`the settings have no ${first}`);
  if (rest.length > 0) remove(below, rest);
  if (rest.length === 0 || Object.keys(below.properties ?? {}).length === 0) delete schema.properties?.[first];
}

const jsonOf = (schema: z.core.$ZodType): JsonSchema =>
  z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      const { type } = zodSchema._zod.def;
      if (
        type === 'prefault' &&
        typeof jsonSchema.default === 'string' &&
        parseDuration(jsonSchema.default) !== undefined
      )
        jsonSchema.pattern = z.safeParse(zodSchema, 'forever').success ? agePattern : durationPattern;
      if (type === 'record') nameByPattern(jsonSchema);
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  }) as JsonSchema;

/** Patterns instead of `propertyNames`, for which helm reports a wrong place. */
function nameByPattern(schema: z.core.JSONSchema.BaseSchema): void {
  const { propertyNames, additionalProperties = {} } = schema;
  delete schema.propertyNames;
  if (typeof propertyNames !== 'object' || propertyNames.pattern === undefined) return;
  schema.patternProperties = { [propertyNames.pattern]: additionalProperties };
  schema.additionalProperties = false;
}

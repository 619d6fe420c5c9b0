/** A test vector: reports in the order of their arrival, to test collecting and verdicts. */

/** One step: a report, or a sweep of stale sets. */
export interface VectorStep {
  /** Parsed JSON. */
  readonly report?: unknown;
  /** The same as unparsed text. */
  readonly reportText?: string;
  readonly sweep?: boolean;
  /** Seconds since the start; that of the step before where it is absent. */
  readonly at?: number;
  /** `train` where it is absent. */
  readonly namespace?: string;
  /** `job-a` where it is absent. */
  readonly workload?: string;
  readonly workloadUID?: string;
  /** Seconds since the start; `at` where it is absent. */
  readonly observedAt?: number;
}

export interface Vector {
  readonly timeoutSeconds?: number;
  readonly reports: readonly VectorStep[];
}

export type ReadVector =
  | { readonly kind: 'vector'; readonly vector: Vector }
  | { readonly kind: 'problem'; readonly because: string };

const types = {
  reportText: 'string',
  sweep: 'boolean',
  at: 'number',
  namespace: 'string',
  workload: 'string',
  workloadUID: 'string',
  observedAt: 'number',
} as const satisfies { readonly [Name in keyof VectorStep]?: string };

/** Whether a JSON value is a vector rather than a report. */
export const isVector = (value: unknown): boolean => isObject(value) && Array.isArray(value['reports']);

/** The vector in a JSON value; the reports in its steps are validated in the replay. `null` counts as absent. */
export function readVector(value: unknown): ReadVector {
  if (!isObject(value) || !Array.isArray(value['reports'])) return problem('reports is not a list of steps');
  const { timeoutSeconds } = value;
  if (!absent(timeoutSeconds) && typeof timeoutSeconds !== 'number') return problem('timeoutSeconds is not a number');
  const steps: readonly unknown[] = value['reports'];
  for (const [index, step] of steps.entries()) {
    const because = flawOf(step);
    if (because !== undefined) return problem(`step ${index + 1}: ${because}`);
  }
  const reports = steps.map((step) =>
    Object.fromEntries(Object.entries(step as VectorStep).filter(([name, said]) => name === 'report' || !absent(said))),
  );
  return { kind: 'vector', vector: { reports, ...(typeof timeoutSeconds === 'number' && { timeoutSeconds }) } };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const absent = (value: unknown): boolean => value === undefined || value === null;

const problem = (because: string): ReadVector => ({ kind: 'problem', because });

function flawOf(step: unknown): string | undefined {
  if (!isObject(step)) return 'it is not an object';
  const wrong = Object.entries(types).find(([name, type]) => !absent(step[name]) && typeof step[name] !== type);
  if (wrong) return `${wrong[0]} is not a ${wrong[1]}`;
  const kinds = [Object.hasOwn(step, 'report'), !absent(step['reportText']), step['sweep'] === true].filter(Boolean);
  return kinds.length === 1 ? undefined : 'it needs one of report, reportText and sweep';
}

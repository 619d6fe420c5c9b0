/**
 * Answers of Loki to a range query for lines. Source of the format: `pkg/util/marshal/query.go` and `pkg/loghttp/entry.go` of Loki; with the
 * flag `categorize-labels` the third element of a value has the structured metadata and what the query itself parsed.
 */

export interface LokiLine {
  /** Nanoseconds since the epoch. */
  readonly at: bigint;
  readonly text: string;
  /** Structured metadata of the line, and over it the labels of its stream. */
  readonly labels: Readonly<Record<string, string>>;
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const texts = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).filter(
      (pair): pair is [string, string] => typeof pair[1] === 'string',
    ),
  );

const time = /^\d{1,19}$/;

/** The lines in the order of their times, or why the answer cannot be used. Never throws. */
export function readAnswer(text: string): readonly LokiLine[] | { readonly unusable: string } {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return { unusable: 'the answer is no JSON' };
  }
  const data = isObject(answer) && answer['status'] === 'success' ? answer['data'] : undefined;
  if (!isObject(data)) return { unusable: 'the answer has no data' };
  if (data['resultType'] !== 'streams' || !Array.isArray(data['result']))
    return { unusable: 'the query does not ask for lines; a metric query has no lines' };
  const lines: LokiLine[] = [];
  for (const stream of data['result'] as readonly unknown[]) {
    if (!isObject(stream) || !Array.isArray(stream['values'])) return { unusable: 'a stream has no values' };
    const labels = texts(stream['stream']);
    for (const value of stream['values'] as readonly unknown[]) {
      const line = lineOf(value, labels);
      if (line === undefined) return { unusable: 'a value is no pair of time and line' };
      lines.push(line);
    }
  }
  return lines.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

function lineOf(value: unknown, stream: Readonly<Record<string, string>>): LokiLine | undefined {
  if (!Array.isArray(value)) return undefined;
  const [at, text, more] = value as readonly unknown[];
  if (typeof at !== 'string' || !time.test(at) || typeof text !== 'string') return undefined;
  // Labels of the stream win: a gateway can restrict those, and each line brings its own metadata.
  return { at: BigInt(at), text, labels: { ...texts(isObject(more) ? more['structuredMetadata'] : {}), ...stream } };
}

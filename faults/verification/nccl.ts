/** nccl-tests: its table, or the JSON of `-J`. Source: util.cu of nccl-tests. rccl-tests print the same table. */

import {
  few,
  objectIn,
  record,
  records,
  type Verification,
  verificationLines,
  type VerificationOptions,
  verified,
} from './verification.ts';

interface Row {
  readonly size: number;
  /** Bus bandwidth out of place, GB/s. */
  readonly bandwidth: number;
}

interface Table {
  readonly rows: readonly Row[];
  /** A row that cannot be read, because a value is missing or is no number. */
  readonly isBroken: boolean;
  /** The table has its end. */
  readonly isEnded: boolean;
  readonly areChecked: boolean;
  /** What the tool says is bad. */
  readonly bad: readonly string[];
  readonly ranks: number | undefined;
}

export function readNccl(text: string, { exitCode = 0, atLeast }: VerificationOptions): Verification {
  const json = text.trimStart().startsWith('{') ? objectIn(text) : undefined;
  const { rows, isBroken, isEnded, areChecked, bad, ranks } = json ? tableOfJson(json) : tableOfText(text);
  if (bad.length > 0) return verified('failed', few(bad), ranks);
  const largest = rows.reduce<Row | undefined>((most, row) => (most && most.size >= row.size ? most : row), undefined);
  if (!largest || !isEnded)
    return verified('unknown', 'it has no table with an end: it was cut off, or did not finish');
  if (isBroken) return verified('unknown', 'a row of its table cannot be read', ranks);
  if (!areChecked) return verified('unknown', 'the values were not checked (-c 1)', ranks);
  const measured = `${largest.bandwidth} GB/s bus bandwidth at ${largest.size} bytes`;
  if (atLeast !== undefined && largest.bandwidth < atLeast)
    return verified('failed', `${measured}, less than ${atLeast} GB/s`, ranks);
  if (exitCode !== 0) return verified('unknown', `${measured}, but the test ended with exit code ${exitCode}`, ranks);
  const bound = atLeast === undefined ? '; no bound was given' : `, at least ${atLeast} GB/s`;
  return verified('passed', `${measured}${bound}`, ranks);
}

function tableOfText(text: string): Table {
  const lines = verificationLines(text);
  // Size, count and type: every row begins so, whatever follows.
  const found = lines.flatMap((line, at) =>
    /^\s{0,40}\d{1,18}\s{1,40}\d{1,18}\s{1,40}[a-z]\w{0,20}\s/.test(line) ? [at] : [],
  );
  const rows = found.map((at) => rowOf(lines[at] ?? ''));
  const last = (pattern: RegExp): number => lines.findLastIndex((line) => pattern.test(line));
  const isEnded = [/^# Out of bounds values {0,20}:/, /^# Avg bus bandwidth {0,20}:/].every(
    (end) => last(end) > (found.at(-1) ?? Infinity),
  );
  const wrong = rows.filter((row) => row && row.wrong > 0).map((row) => `wrong values at ${row?.size} bytes`);
  const said = lines.filter((line) =>
    /^# (?:Out of bounds values|Avg bus bandwidth) {0,20}: .{0,60}\bFAILED\b/.test(line),
  );
  const ranks = lines.filter((line) => /^# {1,4}Rank {1,8}\d/.test(line)).length;
  return {
    rows: rows.filter((row) => row !== undefined),
    isBroken: rows.includes(undefined),
    isEnded,
    areChecked: rows.every((row) => row?.isChecked ?? true),
    bad: [...wrong, ...said.map((line) => line.slice(2))],
    ranks: ranks > 0 ? ranks : undefined,
  };
}

/** `size count type redop root`, then time, algorithm and bus bandwidth and wrong values, out of place and in place. */
function rowOf(line: string): (Row & { readonly wrong: number; readonly isChecked: boolean }) | undefined {
  const cells = line.trim().split(/\s{1,200}/);
  const values = cells.slice(5, 13);
  if (values.length < 8 || !values.every((cell) => /^(?:\d{1,18}(?:\.\d{1,9})?|N\/A)$/.test(cell))) return undefined;
  const [, , bandwidth = '', wrong = '', , , , wrongInPlace = ''] = values;
  if (bandwidth === 'N/A') return undefined;
  return {
    size: Number(cells[0]),
    bandwidth: Number(bandwidth),
    wrong: Math.max(...[wrong, wrongInPlace].map((cell) => (cell === 'N/A' ? 0 : Number(cell)))),
    isChecked: wrong !== 'N/A',
  };
}

function tableOfJson(json: Readonly<Record<string, unknown>>): Table {
  const [config, bounds, average] = ['config', 'out_of_bounds', 'average_bus_bandwidth'].map((name) =>
    record(json[name]),
  );
  const results = records(json['results']);
  const rows = results.flatMap((result): Row[] => {
    const [size, bandwidth] = [result['size'], record(result['out_of_place'])?.['bus_bw']];
    return isAmount(size) && isAmount(bandwidth) ? [{ size, bandwidth }] : [];
  });
  const devices = records(config?.['devices']).length;
  return {
    rows,
    isBroken: rows.length < results.length,
    isEnded: bounds?.['okay'] === true && average !== undefined,
    areChecked: isAmount(config?.['validation']) && config['validation'] > 0,
    bad: [
      ...(bounds?.['okay'] === false ? ['wrong values'] : []),
      ...(average?.['okay'] === false ? ['the average bus bandwidth is below NCCL_TESTS_MIN_BW'] : []),
    ],
    ranks: devices > 0 ? devices : undefined,
  };
}

const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;

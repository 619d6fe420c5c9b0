/** The log format of container runtimes (CRI): `<RFC 3339 time> stdout|stderr F|P <text>`. A line of more than 16 KiB comes in parts (`P`) and an end (`F`). */

export interface CriLine {
  /** RFC 3339 with nanoseconds, as the runtime wrote it. */
  readonly at: string;
  readonly stream: 'stdout' | 'stderr';
  readonly partial: boolean;
  readonly text: string;
}

const time = String.raw`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))`;
const head = new RegExp(String.raw`^${time} (stdout|stderr) ([FP])(?::[\w-]{1,16})?(?: |$)`);
const timeOnly = new RegExp(`^${time} `);

/** Longest head of a line, so that the expression never sees more. */
const headLength = 80;

/** Undefined where the line has another form. */
export function parseCriLine(line: string): CriLine | undefined {
  const match = head.exec(line.slice(0, headLength));
  const [whole, at, stream, tag] = match ?? [];
  if (whole === undefined || at === undefined || (stream !== 'stdout' && stream !== 'stderr')) return undefined;
  return { at, stream, partial: tag === 'P', text: line.slice(whole.length) };
}

/** A whole line of a process; `at` where the runtime's prefix has it. */
export interface ProcessLine {
  readonly text: string;
  readonly at?: string;
}

/** Most characters that are kept of a line in parts: the rest of it is dropped. */
export const joinedLength = 64 * 1024;

/**
 * Joins the parts of lines, for each stream by itself. A line as `kubectl logs` prints it, with `--timestamps` or without, is taken as it is. Text
 * up to the last carriage return is given at once, because a progress bar may never end its line.
 */
export function createLineJoiner(): { take(line: string): readonly ProcessLine[] } {
  const open = { stdout: '', stderr: '' };
  return {
    take(line) {
      const part = parseCriLine(line);
      if (part === undefined) return [untagged(line)];
      const { at, stream, partial } = part;
      const text = open[stream] + part.text.slice(0, Math.max(0, joinedLength - open[stream].length));
      const end = partial ? text.lastIndexOf('\r') : text.length;
      open[stream] = partial ? text.slice(end + 1) : '';
      return partial && end === -1 ? [] : [{ at, text: text.slice(0, end) }];
    },
  };
}

function untagged(line: string): ProcessLine {
  const [whole = '', at] = timeOnly.exec(line.slice(0, headLength)) ?? [];
  return at === undefined ? { text: line } : { at, text: line.slice(whole.length) };
}

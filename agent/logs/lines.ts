/** Cuts the bytes of a file into lines. At most one incomplete line is kept, and a line that is too long is left out. */

export interface Lines {
  /** Another place of the file follows. `within`: it may lie within a line, whose rest is left out. */
  begin(within: boolean): void;
  /** The lines that end in these bytes. */
  take(bytes: Buffer): readonly string[];
}

/** A runtime cuts lines at 16 KiB, and puts a time in front of each part. */
const mostBytes = 20 * 1024;
const newline = 0x0a;
const nothing = Buffer.alloc(0);

export function openLines(): Lines {
  let rest: Buffer = nothing;
  let skipping = false;

  function take(bytes: Buffer): readonly string[] {
    const found: string[] = [];
    let from = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
      const length = rest.length + end - from;
      const line = bytes.subarray(from, end);
      if (!skipping && length <= mostBytes)
        found.push((rest.length > 0 ? Buffer.concat([rest, line]) : line).toString('utf8'));
      [rest, skipping, from] = [nothing, false, end + 1];
    }
    if (skipping || from === bytes.length) return found;
    if (rest.length + bytes.length - from > mostBytes) [rest, skipping] = [nothing, true];
    else rest = Buffer.concat([rest, bytes.subarray(from)]);
    return found;
  }

  return {
    begin(within) {
      [rest, skipping] = [nothing, within];
    },
    take,
  };
}

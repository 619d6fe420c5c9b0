/**
 * Splits a log into lines. A long line is given in parts at its carriage returns, because a progress bar may never end its line, so memory is
 * bounded.
 */
export async function* logLines(pieces: AsyncIterable<string>, most: number): AsyncGenerator<string> {
  let open = '';
  for await (const piece of pieces) {
    const lines = (open + piece).split('\n');
    open = lines.pop() ?? '';
    yield* lines;
    if (open.length <= most) continue;
    const end = open.lastIndexOf('\r');
    yield open.slice(0, end === -1 ? most : end);
    open = end === -1 ? '' : open.slice(end + 1);
  }
  if (open !== '') yield open;
}

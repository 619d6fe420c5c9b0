/** Splits a stream of text into lines. Of a long line only `most` characters and one more are kept, so memory is bounded. */
export async function* linesOf(pieces: AsyncIterable<string>, most: number): AsyncGenerator<string> {
  let rest = '';
  let hasOpenLine = false;
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf('\n'); end !== -1; end = piece.indexOf('\n', from)) {
      yield join(rest, piece, from, end, most);
      rest = '';
      from = end + 1;
    }
    rest = join(rest, piece, from, piece.length, most);
    hasOpenLine = from < piece.length || (hasOpenLine && from === 0);
  }
  if (hasOpenLine) yield rest;
}

const join = (rest: string, piece: string, from: number, end: number, most: number): string =>
  rest + piece.slice(from, Math.min(end, from + most + 1 - rest.length));

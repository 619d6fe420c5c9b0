/** The known word that is most similar; undefined when none is similar enough. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((each) => ({ each, distance: editDistance(word.toLowerCase(), each.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best && best.distance <= Math.max(1, Math.floor(Math.max(word.length, best.each.length) / 3))
    ? best.each
    : undefined;
}

/** Number of insertions, deletions, replacements and swaps of adjacent letters between the words. */
function editDistance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= from.length; row++) {
    const cells = [row];
    rows.push(cells);
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      cells.push(
        Math.min(
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          at(row - 1, column - 1) + (same ? 0 : 1),
          swapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(from.length, to.length);
}

/** Which cells are simulated, and how often. */

import { type Cell, type CellFigures, runCell, runSlowdown, type SlowdownFigures, timeOf } from './slow-nodes-cells.ts';

const scatteredCells = (
  sizes: readonly (readonly [size: number, slow: number])[],
  flips: readonly number[],
  reports: Cell['reports'],
): Cell[] =>
  flips.flatMap((flips) => sizes.map(([size, slow]) => ({ size, slow, where: 'scattered' as const, flips, reports })));

const cells = {
  fixed: [
    ...scatteredCells(
      [
        [8, 1],
        [16, 4],
        [64, 4],
        [64, 8],
        [256, 4],
        [1024, 8],
        [1024, 0],
      ],
      [0.01, 0.05],
      'bandwidths',
    ),
    ...scatteredCells([[64, 4]], [0.01, 0.05], 'bits'),
  ],
  adaptive: [
    ...scatteredCells(
      [
        [16, 1],
        [64, 0],
        [64, 1],
        [64, 4],
        [256, 4],
      ],
      [0.01, 0.05],
      'bandwidths',
    ),
    ...scatteredCells(
      [
        [64, 0],
        [64, 4],
      ],
      [0.01],
      'bits',
    ),
  ],
  racks: [
    { size: 64, slow: 8, where: 'rack', flips: 0, reports: 'bandwidths' },
    { size: 256, slow: 16, where: 'rack', flips: 0, reports: 'bandwidths' },
    { size: 256, slow: 16, where: 'rack', flips: 0.01, reports: 'bandwidths' },
    { size: 1024, slow: 32, where: 'rack', flips: 0, reports: 'bandwidths' },
  ],
  dense: scatteredCells(
    [
      [4, 1],
      [8, 2],
      [16, 6],
      [64, 16],
      [64, 32],
    ],
    [0],
    'bandwidths',
  ),
} as const satisfies Record<string, readonly Cell[]>;

const slowdowns = [
  { slowTo: 0.95, sigma: 0.02 },
  { slowTo: 0.9, sigma: 0.02 },
  { slowTo: 0.9, sigma: 0.05 },
  { slowTo: 0.85, sigma: 0.05 },
  { slowTo: 0.85, sigma: 0.1 },
  { slowTo: 0.8, sigma: 0.1 },
  { slowTo: 0.7, sigma: 0.1 },
] as const;

export interface SlowNodesReport {
  readonly trials: number;
  readonly fixed: readonly CellFigures[];
  readonly adaptive: readonly CellFigures[];
  readonly racks: readonly CellFigures[];
  readonly dense: readonly CellFigures[];
  readonly slowdowns: readonly SlowdownFigures[];
  readonly time: readonly ReturnType<typeof timeOf>[];
}

/** Jobs of a cell: `trials` up to 64 nodes, fewer of larger ones, so that every cell tests about as many nodes. */
const jobsOf = (size: number, trials: number): number => Math.max(20, Math.round(Math.min(1, 64 / size) * trials));

export function reportSlowNodes(trials: number, print: (line: string) => void): SlowNodesReport {
  const run = (name: keyof typeof cells): CellFigures[] => {
    print(name);
    return cells[name].map((cell) => runCell(cell, jobsOf(cell.size, trials), name === 'adaptive'));
  };
  const [fixed, adaptive, racks, dense] = [run('fixed'), run('adaptive'), run('racks'), run('dense')];
  print('slowdowns');
  return {
    trials,
    fixed,
    adaptive,
    racks,
    dense,
    slowdowns: slowdowns.map((slowdown) => runSlowdown(slowdown, jobsOf(256, trials))),
    time: [64, 1024, 4096].map(timeOf),
  };
}

/** One point of each plotted curve. */
export interface Curves {
  readonly byNoise: readonly CellFigures[];
  readonly bySlowdown: readonly SlowdownFigures[];
}

export const curves = (trials: number): Curves => ({
  byNoise: scatteredCells([[64, 4]], [0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1], 'bandwidths').map((cell) =>
    runCell(cell, trials, true),
  ),
  bySlowdown: [0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6].map((slowTo) =>
    runSlowdown({ slowTo, sigma: 0.05 }, jobsOf(256, trials)),
  ),
});

/** Curves as an SVG picture. */

import type { Curves } from './slow-nodes-report.ts';

interface Curve {
  readonly name: string;
  readonly colour: string;
  /** Both in percent. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

interface Panel {
  readonly title: string;
  readonly axis: string;
  readonly ticks: readonly number[];
  readonly curves: readonly Curve[];
}

const percent = (share: number): number => 100 * share;

export function plotSlowNodes({ byNoise, bySlowdown }: Curves): string {
  const noise = (name: string, colour: string, of: (figures: Curves['byNoise'][number]) => number): Curve => ({
    name,
    colour,
    points: byNoise.map((figures) => [percent(figures.flips), percent(of(figures))]),
  });
  const slowdown = (name: string, colour: string, of: (figures: Curves['bySlowdown'][number]) => number): Curve => ({
    name,
    colour,
    points: bySlowdown.map((figures) => [percent(1 - figures.slowTo), percent(of(figures))]),
  });
  return picture([
    {
      title: '64 nodes, 4 slow: found by noise',
      axis: 'pairs that look like the opposite, %',
      ticks: [0, 2, 4, 6, 8, 10],
      curves: [
        noise('adaptive, at most 6 rounds', '#1a7f37', ({ adaptive }) => adaptive?.recall.share ?? 0),
        noise('statistical, 5 rounds', '#0969da', ({ statistical }) => statistical.recall.share),
        noise('strict, 5 rounds', '#cf222e', ({ strict }) => strict.recall.share),
      ],
    },
    {
      title: '256 nodes, 4 slow, sigma 5 %, 5 rounds: found by slowdown',
      axis: 'slower by, %',
      ticks: [0, 10, 20, 30, 40],
      curves: [
        slowdown('statistical, found or undetermined', '#1a7f37', ({ doubted }) => doubted.share),
        slowdown('statistical, found', '#0969da', ({ statistical }) => statistical.recall.share),
        slowdown('strict, floor 90 % of nominal', '#cf222e', ({ strict }) => strict.recall.share),
      ],
    },
  ]);
}

const [width, height, left, top, right, bottom] = [480, 330, 48, 36, 12, 44];

function picture(panels: readonly Panel[]): string {
  const total = width * panels.length;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${total} ${height}" width="${total}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${total}" height="${height}" fill="white"/>`,
    ...panels.flatMap((panel, index) => [`<g transform="translate(${index * width} 0)">`, ...drawn(panel), '</g>']),
    '</svg>',
    '',
  ].join('\n');
}

function drawn({ title, axis, ticks, curves }: Panel): string[] {
  const widest = ticks.at(-1) ?? 1;
  const x = (value: number): string => (left + (value / widest) * (width - left - right)).toFixed(1);
  const y = (value: number): string => (top + (1 - value / 100) * (height - top - bottom)).toFixed(1);
  const label = (text: string, at: string, colour = '#444', anchor = 'middle'): string =>
    `<text ${at} fill="${colour}" text-anchor="${anchor}">${text}</text>`;
  return [
    label(title, `x="${width / 2}" y="20" font-weight="bold"`),
    ...[0, 25, 50, 75, 100].flatMap((value) => [
      `<line x1="${x(0)}" x2="${x(widest)}" y1="${y(value)}" y2="${y(value)}" stroke="#ddd"/>`,
      label(`${value} %`, `x="${left - 6}" y="${Number(y(value)) + 4}"`, '#444', 'end'),
    ]),
    ...ticks.map((value) => label(String(value), `x="${x(value)}" y="${height - bottom + 18}"`)),
    label(axis, `x="${width / 2}" y="${height - 8}"`),
    ...curves.flatMap(({ name, colour, points }, index) => [
      `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points.map(([px, py]) => `${x(px)},${y(py)}`).join(' ')}"/>`,
      ...points.map(([px, py]) => `<circle cx="${x(px)}" cy="${y(py)}" r="3" fill="${colour}"/>`),
      label(name, `x="${width - right - 4}" y="${height - bottom - 46 + 16 * index}"`, colour, 'end'),
    ]),
  ];
}

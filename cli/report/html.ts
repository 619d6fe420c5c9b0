/** Writes a page as one HTML file: no script, nothing loaded from elsewhere, and foreign text cannot become markup. */

import { oneLine, printable } from '../../contract/text.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import type { PhaseSpan } from './cost.ts';
import { type Block, type Line, type Page, type Piece, withoutEmpty } from './page.ts';

const most = 20_000;

const signs: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => signs[sign] ?? '');

/** Foreign text. Pieces of a line keep the blanks between them. */
const inHtml = (text: string): string =>
  escaped(`${/^\s/.test(text) ? ' ' : ''}${oneLine(text, most)}${/\S\s+$/.test(text) ? ' ' : ''}`);

function ofPiece(piece: Piece): string {
  if (typeof piece === 'string') return inHtml(piece);
  return 'code' in piece ? `<code>${inHtml(piece.code)}</code>` : `<strong>${inHtml(piece.strong)}</strong>`;
}

const ofLine = (line: Line): string => line.map(ofPiece).join('');
const items = (lines: readonly Line[]): string =>
  `<ul>${lines.map((line) => `<li>${ofLine(line)}</li>`).join('')}</ul>`;

function ofBlock(block: Block): string {
  switch (block.kind) {
    case 'text':
      return `<p>${block.lines.map(ofLine).join('<br>')}</p>`;
    case 'list':
      return items(block.lines);
    case 'quote':
      return `<pre>${escaped(block.lines.map((line) => printable(line)).join('\n'))}</pre>`;
    case 'table': {
      const row = (cells: readonly string[], tag: string) =>
        `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
      const rows = block.rows.map((cells) => row(cells.map(ofLine), 'td')).join('');
      return `<div class="wide"><table><thead>${row(block.head.map(escaped), 'th')}</thead><tbody>${rows}</tbody></table></div>`;
    }
  }
}

/** What a phase is spent on, as the picture colours it. */
const kinds: Readonly<Record<PhaseSpan['phase'], 'decide' | 'wait' | 'act' | 'prove'>> = {
  detecting: 'decide',
  deciding: 'decide',
  held: 'wait',
  'waiting for approval': 'wait',
  'capturing evidence': 'act',
  'waiting for a checkpoint': 'wait',
  'checking capacity': 'decide',
  stopping: 'act',
  restarting: 'act',
  'waiting for placement': 'wait',
  verifying: 'prove',
  recording: 'decide',
  ended: 'decide',
};

const [labelWidth, barWidth, valueWidth, rowHeight] = [170, 480, 90, 24];

/** One bar for each phase, at its place on the time axis. */
function chartOf(spans: readonly PhaseSpan[]): string {
  const [from, to] = [Math.min(...spans.map((span) => span.from)), Math.max(...spans.map((span) => span.to))];
  const x = (at: number) => labelWidth + (barWidth * (at - from)) / Math.max(1, to - from);
  const rows = spans.map((span, index) => {
    const y = index * rowHeight;
    const width = Math.max(1, x(span.to) - x(span.from)).toFixed(1);
    const lasted = formatDuration(span.to - span.from);
    return `<g><title>${escaped(span.phase)}: ${lasted} from ${new Date(span.from).toISOString()}</title><text x="${labelWidth - 8}" y="${y + 16}" text-anchor="end">${escaped(span.phase)}</text><rect class="${kinds[span.phase]}" x="${x(span.from).toFixed(1)}" y="${y + 4}" width="${width}" height="${rowHeight - 8}" rx="2"/><text x="${labelWidth + barWidth + 8}" y="${y + 16}">${lasted}</text></g>`;
  });
  const total = formatDuration(to - from);
  return `<svg viewBox="0 0 ${labelWidth + barWidth + valueWidth} ${spans.length * rowHeight}" role="img" aria-label="${spans.length} phases in ${total}">${rows.join('')}</svg>`;
}

const style = `
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--line:#d0d7de;--soft:#f6f8fa;--decide:#6e7781;--wait:#d4a72c;--act:#cf4f27;--prove:#2da44e}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--line:#30363d;--soft:#161b22;--decide:#8b949e;--wait:#e3b341;--act:#f0883e;--prove:#3fb950}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:960px;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid var(--line)}
code,pre{font:13px/1.45 ui-monospace,monospace}pre{background:var(--soft);padding:.6rem;overflow-x:auto;white-space:pre-wrap}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line)}
svg{width:100%;height:auto;font:12px system-ui,sans-serif;fill:var(--ink)}
.decide{fill:var(--decide)}.wait{fill:var(--wait)}.act{fill:var(--act)}.prove{fill:var(--prove)}
.key span{margin-right:1rem}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.3em;border-radius:2px}
@media print{body{margin:0;max-width:none;font-size:11px}h2,tr,pre{break-inside:avoid}}
`;

const key = (['decide', 'wait', 'act', 'prove'] as const)
  .map((kind) => `<span><i style="background:var(--${kind})"></i>${kind}</span>`)
  .join('');

/** `spans`: the phases for the picture on top; none: no picture. */
export function htmlOf(page: Page, spans: readonly PhaseSpan[]): string {
  const { title, intro, sections } = withoutEmpty(page);
  const picture = spans.length === 0 ? '' : `<h2>Phases</h2>${chartOf(spans)}<p class="key">${key}</p>`;
  const body = sections.map((section) => `<h2>${escaped(section.title)}</h2>${section.blocks.map(ofBlock).join('')}`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${inHtml(title)}</title><style>${style}</style></head>
<body><h1>${inHtml(title)}</h1>${items(intro)}${picture}
${body.join('\n')}
</body></html>`;
}

import { dashboard, type Panel } from '../../contract/metrics/dashboard.ts';

/** Grafana's grid has 24 columns: three panels stand side by side. */
const width = 8;
const height = 8;
const perLine = 3;

const datasource = { type: 'prometheus', uid: '${datasource}' } as const;

/** The dashboard in the JSON that Grafana imports; the data source is chosen in it. */
export function grafanaDashboard(): string {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: inRow } of dashboard) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: 24, h: 1 },
      panels: [],
    });
    y += 1;
    inRow.forEach((panel, index) => {
      const place = { x: (index % perLine) * width, y: y + Math.floor(index / perLine) * height, w: width, h: height };
      panels.push({ id: panels.length + 1, ...panelOf(panel), gridPos: place });
    });
    y += Math.ceil(inRow.length / perLine) * height;
  }
  const page = {
    uid: 'kcover',
    title: 'kcover',
    description: 'Made from contract/metrics/dashboard.ts by npm run generate; changes here are lost.',
    tags: ['kcover'],
    schemaVersion: 39,
    editable: true,
    refresh: '1m',
    time: { from: 'now-24h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', current: {}, hide: 0 },
      ],
    },
    annotations: { list: [] },
    panels,
  };
  return `${JSON.stringify(page, null, 2)}\n`;
}

const panelOf = ({ title, shows, unit, results }: Panel): object => ({
  type: shows === 'stat' ? 'stat' : 'timeseries',
  title,
  datasource,
  fieldConfig: { defaults: { unit: unit ?? 'short', min: 0 }, overrides: [] },
  targets: results.map(({ expression, legend }, index) => ({
    refId: String.fromCodePoint(65 + index),
    datasource,
    expr: expression,
    legendFormat: legend,
  })),
});

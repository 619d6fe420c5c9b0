/** Alerts, dashboard and ServiceMonitor of the rendered chart. */

import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { alertRules } from '../../scripts/generate/alert-rules.ts';
import { grafanaDashboard } from '../../scripts/generate/grafana-dashboard.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import { chartDirectory, release } from '../../testbed/chart.ts';
import { fullValues, render, type Rendered, testHelm, tryRender, valuesFile } from './rendered.ts';

let full: Rendered;
beforeAll(async () => {
  full = await render(fullValues);
});

const base = 'https://git.example.com/infra/kcover/blob/main';
const enabled = (value: string) => valuesFile({ metrics: { [value]: { enabled: true } } });

describe('the values for monitoring', () => {
  it('contain the alerts, with links to the runbooks, and the dashboard', () => {
    const { metadata, spec } = full.the('PrometheusRule', 'gpu-care');
    expect(metadata?.labels).toMatchObject({ release: 'prometheus' });
    expect(spec).toEqual(parse(alertRules().replaceAll('docs/runbooks.md', `${base}/docs/runbooks.md`)));
    const { metadata: about, data } = full.the('ConfigMap', 'gpu-care-dashboard');
    expect(about).toMatchObject({ labels: { grafana_dashboard: '1' }, annotations: { grafana_folder: 'kcover' } });
    expect(data?.['kcover.json']).toBe(grafanaDashboard());
  });

  it('install none of these by default', async () => {
    const names = (await render()).names();
    expect(names.filter((name) => /^(PrometheusRule|ServiceMonitor)|dashboard/.test(name))).toEqual([]);
  });

  it('are enough alone, and give relative links where no address is known', async () => {
    const rendered = await render(enabled('prometheusRule'));
    expect(rendered.the('PrometheusRule', release).spec).toEqual(parse(alertRules()));
    expect(rendered.names()).not.toContain(`ServiceMonitor/${release}`);
  });

  it.each(['serviceMonitor', 'prometheusRule'])(
    'are refused with a sentence where the cluster does not have the API: %s',
    async (value) => {
      const args = ['template', release, chartDirectory, '--namespace', ownNamespace, '--values', enabled(value)];
      const { code, tail } = await testHelm().run(...args);
      expect(code).not.toBe(0);
      expect(tail).toContain(
        `metrics.${value}.enabled needs the API monitoring.coreos.com/v1, which this cluster does not have: install the Prometheus operator first`,
      );
    },
  );

  it('refuse an address of runbooks that is none', async () => {
    const { code, tail } = await tryRender(
      valuesFile({ metrics: { prometheusRule: { runbooks: 'javascript:alert(1)' } } }),
    );
    expect(code).not.toBe(0);
    expect(tail).toContain('/metrics/prometheusRule/runbooks');
  });
});

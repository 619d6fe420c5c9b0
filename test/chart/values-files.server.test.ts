/** The values files beside the chart: an unknown value would be refused by the schema of the chart when helm renders it. */

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseSettings, type RoleName, roles } from '../../cli/settings/file.ts';
import { chartDirectory } from '../../testbed/chart.ts';
import { render, type Rendered } from './rendered.ts';

const fileOf = (name: string) => join(chartDirectory, `values-${name}.yaml`);
const settingsOf = <R extends RoleName>(role: R, rendered: Rendered) =>
  parseSettings(role, `${role}.yaml`, rendered.settings(role)).settings;
const kindsOf = (rendered: Rendered): ReadonlySet<string> => new Set(rendered.objects.map(({ kind }) => kind ?? ''));

let minimal: Rendered;
let full: Rendered;
let secure: Rendered;
let both: Rendered;

beforeAll(async () => {
  [minimal, full, secure, both] = await Promise.all([
    render(fileOf('minimal')),
    render(fileOf('full')),
    render(fileOf('secure')),
    render(fileOf('full'), fileOf('secure')),
  ]);
});

describe('the values file', () => {
  it.each(roles)('gives valid settings for the %s, alone and together', (role) => {
    for (const rendered of [minimal, full, secure, both]) expect(settingsOf(role, rendered)).toBeDefined();
  });

  it('minimal has one process of each role, without a leader election, and acts', () => {
    for (const role of ['controller', 'worker'])
      expect(minimal.the('Deployment', `kcover-${role}`).spec?.replicas).toBe(1);
    expect(settingsOf('controller', minimal).leaderElection.enabled).toBe(false);
    expect(settingsOf('worker', minimal).mode).toBe('act');
    expect([...kindsOf(minimal)]).not.toEqual(expect.arrayContaining(['PersistentVolumeClaim']));
    expect(kindsOf(minimal).has('FlowSchema')).toBe(false);
  });

  it('full keeps records, notifies, and has metrics, alerts and a dashboard', () => {
    expect([...kindsOf(full)]).toEqual(
      expect.arrayContaining(['ServiceMonitor', 'PrometheusRule', 'PersistentVolumeClaim', 'NetworkPolicy']),
    );
    const { mode, notifications } = settingsOf('worker', full);
    expect([mode, notifications.routes.map(({ format }) => format)]).toEqual(['act', ['alertmanager']]);
    const { links, disks } = settingsOf('agent', full);
    expect([links.devices, disks.devices]).toEqual([['*'], ['nvme*', 'sd*']]);
    expect(full.pod('agent').spec.runtimeClassName).toBe('nvidia');
  });

  it('secure names where training jobs are, closes the network, and creates no certificate itself', () => {
    const names = secure.names();
    expect(names.filter((name) => name.startsWith('Secret/'))).toEqual([]);
    expect(secure.the('NetworkPolicy', 'kcover-controller').spec?.egress).toHaveLength(3);
    const rights = secure.objects.filter(
      ({ kind, metadata }) => kind === 'RoleBinding' && metadata?.namespace === 'train',
    );
    expect(rights.length).toBeGreaterThan(0);
    const { jobMay } = settingsOf('worker', secure).recovery;
    expect([jobMay.mode, jobMay.capacity, jobMay.suppression]).toEqual([['grace', 'off'], ['hold', 'ask'], []]);
    expect(settingsOf('controller', secure).preflight.namespaces).toEqual([]);
    expect(secure.pod('agent').spec.volumes?.map(({ hostPath }) => hostPath?.path)).not.toContain('/var/log/pods');
    expect(secure.pod('worker').container.env?.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['TEMPORAL_TLS_CLIENT_CERT_PATH']),
    );
  });

  it('secure after full keeps what full turns on', () => {
    expect([...kindsOf(both)]).toEqual(expect.arrayContaining(['ServiceMonitor', 'PrometheusRule']));
    expect(both.the('NetworkPolicy', 'kcover-worker').spec?.egress).toHaveLength(3);
    expect(settingsOf('agent', both).disks.devices).toEqual(['nvme*', 'sd*']);
  });
});

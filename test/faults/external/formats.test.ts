import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type ExternalReport, externalLimits } from '../../../contract/wire/external.ts';
import {
  alertmanagerWebhook,
  externalReports,
  mindclusterFaults,
  nvsentinelEvent,
} from '../../../contract/wire/external.schema.ts';
import { controllerSettings } from '../../../contract/settings/settings.schema.ts';
import { externalReaders } from '../../../controller/external/formats.ts';
import { fromAlertmanager } from '../../../faults/external/alertmanager.ts';
import { fromMindcluster } from '../../../faults/external/mindcluster.ts';
import { fromNvsentinel } from '../../../faults/external/nvsentinel.ts';

const fixture = (name: string) => JSON.parse(readFileSync(`test/fixtures/external/${name}.json`, 'utf8'));

const alertsOf = (alerts: readonly object[]) => alertmanagerWebhook.parse({ ...fixture('alertmanager'), alerts });
const alert = (more: object = {}, labels: object = {}) => ({
  ...fixture('alertmanager').alerts[0],
  labels: { alertname: 'GpuLost', node: 'gpu-1', ...labels },
  ...more,
});
const eventWith = (more: object) => {
  const event = fixture('nvsentinel');
  return nvsentinelEvent.parse({
    ...event,
    data: { ...event.data, healthEvent: { ...event.data.healthEvent, ...more } },
  });
};
const faultWith = (more: object) => {
  const message = fixture('mindcluster');
  return mindclusterFaults.parse({ ...message, faults: [{ ...message.faults[0], ...more }] });
};

describe('a webhook of Alertmanager', () => {
  it('without the label of a node is not usable, and says which label', () => {
    const mapped = fromAlertmanager(alertmanagerWebhook.parse(fixture('alertmanager')), { node: 'node' });
    expect(mapped).toEqual({
      reports: [],
      unusable: [{ what: 'ProbeFailure', because: 'it names no node (label node)' }],
    });
  });

  it('becomes a report of the node in the label, with the name of the alert as code', () => {
    const webhook = alertsOf([alert({}, { kubernetes_node: 'gpu-7', pci_bus_id: '0000:5D:00.0' })]);
    expect(fromAlertmanager(webhook, { node: 'kubernetes_node', device: 'pci_bus_id' }).reports).toEqual([
      {
        source: 'alertmanager',
        node: 'gpu-7',
        code: 'GpuLost',
        device: '0000:5D:00.0',
        state: 'occur',
        at: '2023-02-06T13:08:45.828Z',
        text: 'BlackBox Probe Failure: https://server.example.org',
      },
    ]);
  });

  it('that is resolved says when it ended', () => {
    const webhook = alertsOf([alert({ status: 'resolved', endsAt: '2023-02-06T14:00:00Z' })]);
    expect(fromAlertmanager(webhook, { node: 'node' }).reports).toMatchObject([
      { state: 'recover', at: '2023-02-06T14:00:00Z' },
    ]);
  });

  it.each(['../../api', 'gpu-1/../gpu-2', 'GPU', 'a'.repeat(254), '10.0.0.1:9100'])(
    'cannot name %s as a node',
    (node) => {
      const { reports, unusable } = fromAlertmanager(alertsOf([alert({}, { node })]), { node: 'node' });
      expect([reports, unusable.length]).toEqual([[], 1]);
    },
  );

  it('of another version is refused', () => {
    expect(alertmanagerWebhook.safeParse({ ...fixture('alertmanager'), version: '5' }).success).toBe(false);
  });
});

describe('an event of NVSentinel', () => {
  it('becomes a report for each error code, with the PCI address as the kernel gives it', () => {
    const { reports } = fromNvsentinel(nvsentinelEvent.parse(fixture('nvsentinel')));
    const common = {
      source: 'gpu-health-monitor',
      node: 'gpu-node-42',
      device: '0000:17:00',
      action: 'reboot',
      state: 'occur',
      at: '2025-01-15T10:30:00Z',
      text: 'GPU XID error detected',
    };
    expect(reports).toEqual([
      { ...common, code: 'XidError-XID_48' },
      { ...common, code: 'XidError-XID_79' },
    ]);
  });

  it.each([
    [0, 'ignore'],
    [2, 'reset-gpu'],
    [5, 'contact-support'],
    [24, 'reboot'],
    [39, 'restart-app'],
    [99, undefined],
    [1234, undefined],
    [-1, undefined],
  ])('with the recommended action %s asks for %s', (recommendedAction, action) => {
    const { reports } = fromNvsentinel(eventWith({ recommendedAction, errorCode: [] }));
    expect(reports.map((report) => report.action)).toEqual([action]);
  });

  it('that says healthy is a recovery, and one without entities is about the node', () => {
    const { reports } = fromNvsentinel(eventWith({ isHealthy: true, errorCode: [], entitiesImpacted: [] }));
    expect(reports).toMatchObject([{ state: 'recover', code: 'XidError' }]);
    expect(reports[0]).not.toHaveProperty('device');
  });

  it('with many codes and devices becomes a bounded number of reports', () => {
    const entitiesImpacted = Array.from({ length: 100 }, (_, index) => ({
      entityType: 'PCI',
      entityValue: `0000:${index.toString(16).padStart(2, '0')}:00.0`,
    }));
    const errorCode = Array.from({ length: 100 }, (_, index) => `code ${index}`);
    expect(fromNvsentinel(eventWith({ entitiesImpacted, errorCode })).reports).toHaveLength(128);
  });
});

describe('public faults of MindCluster', () => {
  it('become a report for each device', () => {
    const { reports } = fromMindcluster(mindclusterFaults.parse(fixture('mindcluster')));
    expect(reports).toEqual(
      ['npu-0', 'npu-1'].map((device) => ({
        source: 'CCAE',
        node: 'node1',
        code: '100000001',
        device,
        action: 'ignore',
        state: 'occur',
        at: '2025-01-01T00:00:01.000Z',
        text: 'NPU chip fault occurred',
      })),
    );
  });

  it.each([
    ['000001001', 'ignore'],
    ['110001001', undefined],
    ['220001001', 'contact-support'],
    ['290001001', undefined],
  ])('with the code %s ask for %s', (faultCode, action) => {
    const { reports } = fromMindcluster(faultWith({ faultCode }));
    expect([...new Set(reports.map((report) => report.action))]).toEqual([action]);
  });

  it('that name a serial number alone are not usable', () => {
    const mapped = fromMindcluster(faultWith({ influence: [{ nodeSN: 'SN-1', deviceIds: [0] }] }));
    expect(mapped).toEqual({
      reports: [],
      unusable: [{ what: '100000001', because: 'it names no node, only SN-1' }],
    });
  });

  it('are at most as many as one request may have', () => {
    const influence = Array.from({ length: 1000 }, (_, index) => ({ nodeName: `n-${index}`, deviceIds: [0, 1] }));
    const { reports, unusable } = fromMindcluster(faultWith({ influence }));
    expect([reports.length, unusable.length]).toEqual([externalLimits.reports, externalLimits.reports]);
  });
});

describe('whatever is sent', () => {
  const [sender] = controllerSettings.parse({ external: { senders: [{ name: 's', tokenFile: '/t' }] } }).external
    .senders;
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\u001B[2J', '../..', '__proto__', 'constructor', 'gpu-1', '0000:5d:00.0', ' ', 'a'.repeat(9999)),
  );
  const time = fc.constantFrom('2026-11-22T10:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999Z');
  const alerts = fc.record({
    version: fc.constant('4'),
    alerts: fc.array(
      fc.record({
        status: fc.constantFrom('firing', 'resolved'),
        labels: fc.dictionary(fc.constantFrom('alertname', 'node', 'x'), hostile),
        annotations: fc.dictionary(fc.constantFrom('summary', 'description'), hostile),
        startsAt: time,
        endsAt: time,
      }),
    ),
  });
  const events = fc.record({
    type: fc.constant('com.nvidia.nvsentinel.health.v1'),
    data: fc.record({
      healthEvent: fc.record({
        agent: hostile,
        checkName: hostile,
        isHealthy: fc.boolean(),
        message: hostile,
        recommendedAction: fc.integer(),
        errorCode: fc.array(hostile),
        entitiesImpacted: fc.array(fc.record({ entityType: fc.constantFrom('PCI', 'GPU_UUID'), entityValue: hostile })),
        generatedTimestamp: time,
        nodeName: hostile,
      }),
    }),
  });
  const publicFaults = fc.record({
    version: fc.constant('1.0'),
    resource: hostile,
    faults: fc.array(
      fc.record({
        faultCode: fc.constantFrom('220001001', '110001001'),
        faultTime: fc.nat(),
        assertion: fc.constantFrom('occur', 'recover', 'once'),
        influence: fc.array(fc.record({ nodeName: hostile, deviceIds: fc.array(fc.integer({ min: 0, max: 31 })) })),
        description: hostile,
      }),
    ),
  });

  it('is refused, or becomes reports that kcover itself would accept', () => {
    const at = (path: string, body: fc.Arbitrary<unknown>) => fc.tuple(fc.constant(`/v1/external${path}`), body);
    const sent = fc.oneof(
      at('/alertmanager', alerts),
      at('/nvsentinel', events),
      at('/mindcluster', publicFaults),
      fc.tuple(fc.constantFrom(...Object.keys(externalReaders)), fc.jsonValue()),
    );
    let mapped = 0;
    fc.assert(
      fc.property(sent, ([path, body]) => {
        if (!sender) throw new Error('no sender');
        const read = externalReaders[path]?.(body, sender);
        if (!read || 'kind' in read) return;
        mapped += read.reports.length;
        for (const report of read.reports satisfies readonly ExternalReport[])
          expect(externalReports.safeParse(report)).toMatchObject({ success: true });
      }),
      { numRuns: 3000 },
    );
    expect(mapped).toBeGreaterThan(100);
  });
});

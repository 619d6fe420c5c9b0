import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { faultLimits } from '../../../contract/faults/faults.ts';
import { traitsOf } from '../../../contract/faults/sources.ts';
import { goJson, isIntact } from '../../../faults/ascend/check-code.ts';
import { readConfigMaps, readReport, reportNamesOf, subjectOf } from '../../../faults/ascend/config-map.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const all = [0, 1, 2, 3, 4, 5, 6, 7].map((chip) => `Ascend910-${chip}`).join(',');

/** As the device plugin writes it. */
const deviceInfo = (list: object, checkCode?: string) => {
  const content = { DeviceList: list, UpdateTime: 1744182144 };
  const text = JSON.stringify({
    DeviceInfo: content,
    SuperPodID: -2,
    ServerIndex: -2,
    CheckCode: checkCode ?? sha256(goJson(content)),
  });
  return {
    kind: 'ConfigMap',
    metadata: { name: 'mindx-dl-deviceinfo-npu-1', namespace: 'kube-system' },
    data: { DeviceInfoCfg: text },
  };
};
const withFaults = (...faults: readonly object[]) =>
  deviceInfo({
    'huawei.com/Ascend910': all,
    'huawei.com/Ascend910-Fault': JSON.stringify(faults),
    'huawei.com/Ascend910-NetworkUnhealthy': '',
    'huawei.com/Ascend910-Unhealthy': '',
  });
const read = (value: unknown) => readConfigMaps(value, sha256);
const shown = (value: unknown) =>
  read(value)?.faults.map(({ code, device, action, standing }) => [code, device, action ?? standing ?? 'none']);

/** Source: Ascend/mind-cluster, tests of clusterd's fault domain. */
const twoCodes = {
  fault_type: 'CardUnhealthy',
  fault_code: '80E01801      ,  80C98009    ',
  fault_time_and_level_map: {
    '80E01801': { fault_time: 1744182100000, fault_level: 'RestartBusiness' },
    '80C98009': { fault_time: 1744182120000, fault_level: 'NotHandleFault' },
  },
  npu_name: 'Ascend910-0',
  fault_handling: 'RestartBusiness',
};

describe('the CheckCode of a ConfigMap of MindCluster', () => {
  // Source: Ascend/ascend-for-volcano, the ConfigMap of its tests.
  const content = {
    DeviceList: {
      'huawei.com/Ascend910': all,
      'huawei.com/Ascend910-NetworkUnhealthy': '',
      'huawei.com/Ascend910-Unhealthy': '',
    },
    UpdateTime: 1657527526,
  };
  const code = '6b8de396fd9945be231d24720ca66ed950baf0a5972717f335aad7571cb6457a';

  it('is the hash of what Go writes', () => {
    expect(isIntact(content, code, sha256)).toBe(true);
    expect(isIntact({ ...content, UpdateTime: 1657527527 }, code, sha256)).toBe(false);
    expect(goJson({ a: '<&>\u2028' })).toBe(String.raw`{"a":"\u003c\u0026\u003e\u2028"}`);
  });

  it('that fails makes the ConfigMap unobservable, and no fault', () => {
    expect(read(deviceInfo({ 'huawei.com/Ascend910-Unhealthy': 'Ascend910-4' }, code))).toMatchObject({
      faults: [],
      unobservable: [{ source: 'device-plugin', node: 'npu-1', because: expect.stringContaining('CheckCode') }],
    });
  });
});

describe('a ConfigMap that is watched', () => {
  it('says when each of its faults began, by the clock of its node', () => {
    const report = readReport(withFaults(twoCodes), sha256);
    expect(report).toMatchObject({ node: 'npu-1', what: 'DeviceInfoCfg', isRead: true });
    expect(report?.faults.map(({ since }) => since)).toEqual(['2025-04-09T07:01:40.000Z', '2025-04-09T07:02:00.000Z']);
    expect(readReport({ metadata: { name: 'coredns' } }, sha256)).toBeUndefined();
  });

  it('has the heartbeat of NodeD, which is read only where the CheckCode is right', () => {
    const content = { HeartbeatTime: 1700000000, HeartbeatInterval: 5 };
    const map = (code: string) => ({
      metadata: { name: 'mindx-dl-nodeinfo-npu-1' },
      data: { NodeInfo: JSON.stringify({ NodeInfo: content, CheckCode: code }) },
    });
    const heartbeat = { value: '1700000000', intervalMs: 5000 };
    expect(readReport(map(sha256(goJson(content))), sha256)).toMatchObject({ isRead: true, faults: [], heartbeat });
    const wrong = readReport(map(sha256('')), sha256);
    expect([wrong?.isRead, wrong?.heartbeat]).toEqual([false, undefined]);
  });

  it('is found by its name, which has the node', () => {
    expect(reportNamesOf('npu-1').map((name) => subjectOf(name))).toEqual([
      { node: 'npu-1', what: 'DeviceInfoCfg' },
      { node: 'npu-1', what: 'NodeInfo' },
    ]);
    expect([subjectOf('mindx-dl-deviceinfo-'), subjectOf('coredns')]).toEqual([undefined, undefined]);
  });

  it('gives a finding nothing but its fields', () => {
    const [fault] = readReport(withFaults(twoCodes), sha256)?.faults ?? [];
    expect(Object.keys(fault?.finding ?? {}).toSorted()).toEqual(
      ['action', 'because', 'code', 'device', 'message', 'node', 'source'].toSorted(),
    );
  });

  it.each([
    ['nested deeply', `{"DeviceInfo":${'['.repeat(400_000)}${']'.repeat(400_000)},"CheckCode":"a"}`],
    ['of brackets', '['.repeat(1_000_000)],
    ['of the largest size', `{"DeviceInfo":{"DeviceList":{"a-Unhealthy":"${'x,'.repeat(500_000)}"}},"CheckCode":"a"}`],
  ])('is unobservable where its content is %s', (_, text) => {
    const map = { metadata: { name: 'mindx-dl-deviceinfo-npu-1' }, data: { DeviceInfoCfg: text } };
    expect(readReport(map, sha256)).toMatchObject({ isRead: false, faults: [], unobservable: [{ node: 'npu-1' }] });
  });

  it('with more faults than a node can have is read in part, and what is only recorded displaces nothing', () => {
    const codes = (begin: string, level: string, chip: number) => ({
      npu_name: `Ascend910-${chip}`,
      fault_handling: level,
      fault_code: Array.from({ length: 30 }, (_, at) => `${begin}${at}`).join(','),
    });
    const harmless = Array.from({ length: 10 }, (_, chip) => codes('a', 'NotHandleFault', chip));
    const report = readReport(withFaults(...harmless, codes('b', 'SeparateNPU', 11)), sha256);
    expect(report?.faults).toHaveLength(128);
    expect(report?.faults.filter(({ finding }) => finding.action === 'contact-support')).toHaveLength(30);
    expect(report?.unobservable).toMatchObject([{ because: expect.stringContaining('330') }]);
  });
});

describe('a ConfigMap of the Ascend device plugin', () => {
  it('has a fault for each code, with the level of that code and not the worst of all', () => {
    const found = read(withFaults(twoCodes));
    expect(shown(withFaults(twoCodes))).toEqual([
      ['ascend/80E01801', 'Ascend910-0', 'restart-app'],
      ['ascend/80C98009', 'Ascend910-0', 'ignore'],
    ]);
    expect(found?.faults[0]?.message).toBe(
      'CardUnhealthy 80E01801 of Ascend910-0, level RestartBusiness since 2025-04-09T07:01:40.000Z',
    );
  });

  it.each([
    ['NotHandleFault', 'ignore'],
    ['SubHealthFault', 'none'],
    ['RestartRequest', 'restart-app'],
    ['RestartBusiness', 'restart-app'],
    ['FreeRestartNPU', 'reset-gpu'],
    ['RestartNPU', 'reset-gpu'],
    ['PreSeparateNPU', 'none'],
    ['SeparateNPU', 'contact-support'],
    ['ManuallySeparateNPU', 'contact-support'],
    ['SomethingNew', 'unknown'],
  ])('of level %s means %s', (level, action) => {
    const fault = {
      fault_type: 'CardUnhealthy',
      npu_name: 'Ascend910-4',
      fault_handling: level,
      fault_code: '81078603',
    };
    expect(shown(withFaults(fault))).toEqual([['ascend/81078603', 'Ascend910-4', action]]);
  });

  it('moves no work for the network of a chip alone', () => {
    const fault = {
      fault_type: 'CardNetworkUnhealthy',
      npu_name: 'Ascend910-4',
      fault_handling: 'SeparateNPU',
      fault_code: '81078603',
    };
    expect(shown(withFaults(fault))).toEqual([['ascend/81078603', 'Ascend910-4', 'none']]);
  });

  it('of an early release, or of a newer product, lists chips without codes', () => {
    const list = {
      'huawei.com/npu': 'npu-0',
      'huawei.com/npu-Unhealthy': 'npu-4, npu-5',
      'huawei.com/npu-NetworkUnhealthy': 'npu-6',
    };
    expect(shown(deviceInfo(list))).toEqual([
      ['ascend/card-unhealthy', 'npu-4', 'reset-gpu'],
      ['ascend/card-unhealthy', 'npu-5', 'reset-gpu'],
      ['ascend/card-network-unhealthy', 'npu-6', 'none'],
    ]);
  });

  it('of NodeD names faults of the node', () => {
    const content = {
      FaultDevList: [{ DeviceType: 'CPU', DeviceId: 1, FaultCode: ['00000001'], FaultLevel: 'SeparateFault' }],
      NodeStatus: 'UnHealthy',
    };
    const text = JSON.stringify({ NodeInfo: content, CheckCode: sha256(goJson(content)) });
    const map = { kind: 'ConfigMap', metadata: { name: 'mindx-dl-nodeinfo-npu-1' }, data: { NodeInfo: text } };
    expect(shown({ kind: 'List', items: [map] })).toEqual([['ascend/00000001', 'CPU 1', 'contact-support']]);
  });

  it('is found among others, and nothing else is taken for one', () => {
    const other = { kind: 'ConfigMap', metadata: { name: 'coredns' }, data: { DeviceInfoCfg: '{}' } };
    expect(read({ items: [other, withFaults()] })).toEqual({ faults: [], unobservable: [] });
    expect([read(null), read({ kind: 'Pod' }), read('x')]).toEqual([undefined, undefined, undefined]);
  });

  it('of any content is read without an error, and what it says is bounded and of the form of its source', () => {
    const list = fc.dictionary(
      fc.constantFrom('a-Fault', 'a-Unhealthy', 'a-NetworkUnhealthy', 'a'),
      fc.oneof(
        fc.string(),
        fc.anything(),
        fc
          .array(
            fc.record({
              fault_type: fc.string(),
              npu_name: fc.anything(),
              fault_code: fc.oneof(fc.string(), fc.constant('81078603,x\u001b[31m')),
              fault_handling: fc.string(),
              fault_time_and_level_map: fc.anything(),
            }),
          )
          .map((faults) => JSON.stringify(faults)),
      ),
    );
    fc.assert(
      fc.property(list, (devices) => {
        // What JSON cannot say does not arrive.
        const written = JSON.parse(
          JSON.stringify(devices, (_, value: unknown) => (typeof value === 'bigint' ? 0 : value)) ?? '{}',
        ) as object;
        for (const { code, message, because, device } of read(deviceInfo(written))?.faults ?? []) {
          expect(code).toMatch(traitsOf('device-plugin').codes);
          expect(message.length).toBeLessThanOrEqual(faultLimits.message);
          expect(`${message}${because}${device}`).not.toMatch(/\p{Cc}/u);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('keeps nothing of the text of a ConfigMap but what is read', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heap = () => (collect(), process.memoryUsage().heapUsed);
    const before = heap();
    const kept = Array.from({ length: 60 }, (_, index) => {
      const text = JSON.stringify(withFaults({ ...twoCodes, npu_name: `Ascend910-${index}-${'0'.repeat(1_000_000)}` }));
      return readReport(JSON.parse(text), sha256);
    });
    expect(heap() - before).toBeLessThan(20_000_000);
    expect(kept.map((report) => report?.faults.length)).toEqual(Array.from({ length: 60 }, () => 2));
  });
});

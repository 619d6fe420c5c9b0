/** RDMA links of a node (InfiniBand and RoCE) that go down, come and go, or whose device is gone. */

import { oneLine } from '../../contract/text.ts';
import { linkFault, type LinkPort } from '../../faults/link/link-fault.ts';
import { matchesDevice, type PortState } from '../../faults/link/port.ts';
import { type Instant, observePort, type PortLimits } from '../../faults/link/port-history.ts';
import { createFilePoller } from '../files/poller.ts';
import { readBootId } from '../kernel-log/boot-id.ts';
import { type KnownPort, linkStateWriter, loadLinkState } from '../link/state-file.ts';
import { type LinkReading, readLinks } from '../link/sysfs.ts';
import type { Detector, DetectorContext, DetectorStatus, RunningDetector } from './detector.ts';

export const link: Detector = {
  watches: 'RDMA links (InfiniBand and RoCE)',
  start: (context) => (context.settings.links.devices.length === 0 ? off : watchLinks(context)),
};

const off: RunningDetector = {
  stop: () => Promise.resolve(),
  status: () => ({ state: 'off', because: 'links.devices of the settings is empty', read: 0 }),
};

/** Polls without an observation of a port after which nothing is known about the time between. */
const missedPolls = 3;

const keyOf = ({ device, port }: LinkPort): string => `${device}/${port}`;

/** The kernel's clock since boot, which the agent's processes of one boot share. */
const instant = (): Instant => ({
  monotonicMs: Math.round(Number(process.hrtime.bigint()) / 1e6),
  time: new Date().toISOString(),
});

function watchLinks({
  settings,
  node,
  hostRoot,
  stateDirectory,
  log,
  fault,
  gap,
  settled,
}: DetectorContext): RunningDetector {
  const { devices, every, down } = settings.links;
  const limits: PortLimits = { downMs: down, unobservedMs: Math.max(down, missedPolls * every) };
  const poller = createFilePoller({ what: 'RDMA links', everyMs: every, log });
  const save = linkStateWriter(stateDirectory, log);
  const isWanted = (device: string): boolean => devices.some((pattern) => matchesDevice(pattern, device));
  let bootId: string | undefined;
  let known = new Map<string, KnownPort>();
  let because: string | undefined;
  let read = 0;

  /** Ports of another boot, and those that the settings no longer name, are forgotten. */
  async function begin(boot: string): Promise<void> {
    const stored = bootId === undefined ? await loadLinkState(stateDirectory) : 'absent';
    if (stored === 'unusable') await gap({ what: 'state-lost', lost: 'unknown' });
    const ports =
      typeof stored === 'object' && stored.bootId === boot
        ? stored.ports.filter(({ port }) => isWanted(port.device))
        : [];
    known = new Map(ports.map((one) => [keyOf(one.port), one]));
    bootId = boot;
  }

  /** The history is kept only after the fault is in the spool, so that it is found again rather than lost. */
  async function judge(port: LinkPort, state: PortState, now: Instant): Promise<void> {
    const { history, finding } = observePort(known.get(keyOf(port))?.history, state, now, limits);
    if (history === undefined) return;
    if (finding !== undefined) {
      const found = linkFault({ node, port, finding, state, now, limits });
      log.warn({ fault: found.id, code: found.code, device: found.device, because: found.message }, 'link fault seen');
      await fault(found);
    }
    known.set(keyOf(port), { port, history });
  }

  async function judgeAll({ ports, gone }: LinkReading, now: Instant): Promise<readonly string[]> {
    for (const { port, state } of ports) await judge(port, state, now);
    const seen = new Set(ports.map(({ port }) => keyOf(port)));
    const unseen = [...known.values()].filter(({ port }) => !seen.has(keyOf(port)));
    for (const { port } of unseen) if (gone.has(port.device)) await judge(port, { kind: 'gone' }, now);
    return unseen
      .filter(({ port }) => !gone.has(port.device))
      .map(({ port }) => `port ${port.port} of ${port.device} cannot be read`);
  }

  async function look(): Promise<number> {
    const boot = await readBootId(hostRoot);
    if (boot !== bootId) await begin(boot);
    const reading = await readLinks(hostRoot, isWanted, new Set([...known.values()].map(({ port }) => port.device)));
    read += reading.ports.length;
    const missing = await judgeAll(reading, instant());
    if (settled()) await save({ bootId: boot, ports: [...known.values()] });
    const [problem] = [...reading.problems, ...missing];
    if (problem !== undefined) throw new Error(oneLine(problem, 300));
    because = describe(reading);
    return reading.ports.length;
  }

  poller.start(async () => ({ seen: await poller.fromDisk(look()) }));
  return {
    stop: () => poller.stop(),
    status: () => ({ ...statusOf(because, poller.status().unavailable), read }),
  };
}

function statusOf(because: string | undefined, unavailable: string | undefined): Omit<DetectorStatus, 'read'> {
  if (unavailable !== undefined) return { state: 'unavailable', because: unavailable };
  return because === undefined
    ? { state: 'starting', because: 'reading /sys/class/infiniband' }
    : { state: 'watching', because };
}

/** One sentence about the ports as they are now. */
function describe({ ports, gone }: LinkReading): string {
  const inactive = ports.filter(({ state }) => state.kind !== 'active').map(({ port }) => keyOf(port));
  const sentences = [
    ports.length === 0 ? 'the node has no RDMA port that the settings name' : `reading ${ports.length} ports`,
    ...(inactive.length > 0 ? [`not ACTIVE: ${inactive.slice(0, 8).join(', ')}`] : []),
    ...(gone.size > 0 ? [`gone: ${[...gone].slice(0, 8).join(', ')}`] : []),
  ];
  return sentences.join('; ');
}

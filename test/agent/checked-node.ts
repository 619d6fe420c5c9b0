/** A node in a temporary directory, and detectors that look at it. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { pino } from 'pino';
import type { z } from 'zod';
import type { Detector, RunningDetector } from '../../agent/detectors/detector.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import { agentSettings } from '../../contract/settings/settings.schema.ts';
import { reportedFault } from '../../contract/wire/reports.schema.ts';
import { until } from './until.ts';

export type Given = z.input<typeof agentSettings>;

/** A detector with what it reported so far. */
export interface Observed {
  readonly faults: readonly Fault[];
  readonly gaps: readonly string[];
  readonly detector: RunningDetector;
  is(state: string, words?: string): Promise<void>;
  /** Waits until it has looked so many times again. */
  looks(times?: number): Promise<void>;
  codes(): string[];
}

export interface CheckedNode {
  /** Root of the node's files; another one for each test. */
  readonly root: string;
  /** The node starts again. */
  boot(id: string): Promise<void>;
  observe(detector: Detector, given: Given): Observed;
}

/** To be called once in a file. Its detectors are stopped after each test. */
export function useNode(): CheckedNode {
  let root = '';
  let running: RunningDetector[] = [];
  const boot = (id: string): Promise<void> => writeFile(join(root, 'proc/sys/kernel/random/boot_id'), `${id}\n`);

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'kcover-node-'));
    await mkdir(join(root, 'proc/sys/kernel/random'), { recursive: true });
    await boot('boot-1');
  });

  afterEach(async () => {
    await Promise.all(running.map((detector) => detector.stop()));
    running = [];
    await rm(root, { recursive: true, force: true });
  });

  function observe(detector: Detector, given: Given): Observed {
    const faults: Fault[] = [];
    const gaps: string[] = [];
    const started = detector.start({
      settings: agentSettings.parse(given),
      node: 'gpu-3',
      hostRoot: root,
      stateDirectory: join(root, 'state'),
      log: pino({ level: 'silent' }),
      fault: async (fault) => void faults.push(reportedFault.parse(fault)),
      gap: async ({ what }) => void gaps.push(what),
      settled: () => true,
    });
    running.push(started);
    return {
      faults,
      gaps,
      detector: started,
      is: (state, words = '') =>
        until(() => started.status().state === state && started.status().because.includes(words)),
      async looks(times = 4) {
        const from = started.status().read;
        await until(() => started.status().read >= from + times);
      },
      codes: () => faults.map(({ code }) => code),
    };
  }

  return {
    get root() {
      return root;
    },
    boot,
    observe,
  };
}

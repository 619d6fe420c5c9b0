/** The agent: detectors find faults, the spool stores them, the reporter sends them to the controller. Uploaders send preflight reports, progress files, and what container logs say of progress. */

import type { Logger } from 'pino';
import type { AgentSettings } from '../contract/settings/settings.schema.ts';
import { connectController } from './upload/connection.ts';
import type { Detector, DetectorStatus } from './detectors/detector.ts';
import { detectors } from './detectors/index.ts';
import { readBootId } from './kernel-log/boot-id.ts';
import { type PreflightUploaderStatus, startPreflightUploader } from './preflight/uploader.ts';
import { reportFiles } from './preflight/files.ts';
import { type LogUploaderStatus, startLogUploader } from './logs/uploader.ts';
import { type ProgressUploaderStatus, startProgressUploader } from './progress/uploader.ts';
import { trainerFiles } from './progress/files.ts';
import { type ReporterStatus, startReporter } from './upload/reporter.ts';
import { startStatusFile, type StatusFileStatus } from './status-file.ts';
import { openSpool, type SpoolStatus } from './spool.ts';

export interface AgentOptions {
  readonly settings: AgentSettings;
  readonly node: string;
  /** `/host` in a pod, a directory in the testbed. */
  readonly hostRoot: string;
  readonly version: string;
  readonly log: Logger;
}

export interface AgentStatus {
  readonly node: string;
  readonly detectors: Readonly<Record<string, DetectorStatus>>;
  readonly reporter: ReporterStatus;
  readonly spool: SpoolStatus;
  readonly preflight: PreflightUploaderStatus;
  readonly progress: ProgressUploaderStatus;
  readonly logs: LogUploaderStatus;
  readonly statusFile: StatusFileStatus;
}

export interface RunningAgent {
  stop(): Promise<void>;
  status(): AgentStatus;
}

/** Resolves when everything runs. It waits for what is not available yet (controller, kernel log, disk) and does not throw. */
export async function startAgent({ settings, node, hostRoot, version, log }: AgentOptions): Promise<RunningAgent> {
  const { directory, maxBytes } = settings.spool;
  let changed = (): void => undefined;
  const spool = await openSpool({ directory, maxBytes, log, changed: () => changed() });
  const connection = connectController(settings.controller, version);
  const logs = startLogUploader({
    hostRoot,
    connection,
    node,
    everyMs: settings.logs.every,
    log: log.child({ uploader: 'logs' }),
  });
  const statusFile = startStatusFile({
    directory: settings.statusFile.directory,
    node,
    heartbeatMs: settings.heartbeat,
    log,
  });
  const reporter = startReporter({
    spool,
    connection,
    node,
    bootId: () => readBootId(hostRoot),
    heartbeatMs: settings.heartbeat,
    onFollow: logs.follow,
    onNotice: statusFile.answered,
    log,
  });
  changed = reporter.flush;

  const start = (name: string, detector: Detector) =>
    detector.start({
      settings,
      node,
      hostRoot,
      stateDirectory: directory,
      log: log.child({ detector: name }),
      fault: (fault) => spool.append(fault),
      gap: (gap) => spool.gap({ ...gap, seenAt: new Date().toISOString() }),
      settled: () => spool.settled(),
    });
  const running = Object.entries(detectors).map(([name, detector]) => ({ name, detector: start(name, detector) }));
  const uploader = startPreflightUploader({
    files: reportFiles(hostRoot),
    connection,
    node,
    stateDirectory: directory,
    everyMs: settings.preflight.every,
    log: log.child({ uploader: 'preflight' }),
  });
  const progress = startProgressUploader({
    files: trainerFiles(hostRoot),
    connection,
    node,
    everyMs: settings.progress.every,
    log: log.child({ uploader: 'progress' }),
  });
  log.info({ node, hostRoot, version }, 'agent started');

  return {
    status: () => ({
      node,
      detectors: Object.fromEntries(running.map(({ name, detector }) => [name, detector.status()])),
      reporter: reporter.status(),
      spool: spool.status(),
      preflight: uploader.status(),
      progress: progress.status(),
      logs: logs.status(),
      statusFile: statusFile.status(),
    }),
    async stop() {
      await Promise.all(running.map(({ detector }) => detector.stop()));
      await Promise.all([uploader.stop(), progress.stop(), logs.stop()]);
      await reporter.stop(); // closes the connection
      await statusFile.stop();
      await spool.close();
    },
  };
}

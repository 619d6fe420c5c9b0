/** Checks that Temporal answers, has kcover's search attributes, and has workers. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { formatDuration } from '../../contract/settings/duration.ts';
import { waitsTaskQueue } from '../../contract/ids.ts';
import { registerSearchAttributes, searchAttributeGaps } from '../roles/search-attributes.ts';
import { askTemporal, type TemporalTarget } from '../clients/temporal.ts';
import { clockFinding, failed, type Finding, look, ok, warn } from './finding.ts';
import { examineAccess } from './temporal-access.ts';

/** Version of the server that kcover is tested with. */
const testedServer = [1, 32] as const;

export interface TemporalExam {
  readonly client: Client;
  readonly target: TemporalTarget;
  readonly taskQueue: string;
  /** Register what is missing. */
  readonly fix: boolean;
}

/** All checks; only the first when the namespace does not answer. */
export async function examineTemporal(exam: TemporalExam): Promise<readonly Finding[]> {
  const first = await look('temporal', () => namespaceAndVersion(exam));
  if (first.result === 'failed') return [first];
  const others = await Promise.all([
    look('search attributes', () => attributes(exam)),
    look('workers', () => workers(exam)),
    look('clock of temporal', () => clock(exam)),
  ]);
  return [first, ...examineAccess(exam.target), ...others];
}

async function namespaceAndVersion({ client, target: { address, namespace } }: TemporalExam): Promise<Finding> {
  const { serverVersion } = await askTemporal(client, 'ask for the version', () =>
    client.workflowService.getSystemInfo({}),
  );
  const { config } = await askTemporal(client, `look at namespace ${namespace}`, () =>
    client.workflowService.describeNamespace({ namespace }),
  );
  const kept = formatDuration(Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1000);
  const where = `${address}, namespace ${namespace}, server ${serverVersion}, closed workflows are kept ${kept}`;
  const [major = 0, minor = 0] = (serverVersion ?? '').split('.').map(Number);
  const old = major < testedServer[0] || (major === testedServer[0] && minor < testedServer[1]);
  return old
    ? warn(
        'temporal',
        `${where}; kcover is tested with ${testedServer.join('.')}`,
        'upgrade the server, or try kcover there first',
      )
    : ok('temporal', where);
}

async function attributes({ client, target, fix }: TemporalExam): Promise<Finding> {
  const check = 'search attributes';
  const { connection } = client;
  const gaps = await searchAttributeGaps(connection, target);
  if (gaps === undefined)
    return warn(
      check,
      'Temporal does not let kcover list them',
      'compare them with contract/ids.ts where this server manages them',
    );
  if (gaps.missing.length + gaps.wrong.length === 0) return ok(check, 'all are registered');
  // An attribute of another type is not removed here, because its values would be lost: a person must decide that.
  if (!fix || gaps.wrong.length > 0)
    return failed(
      check,
      gaps.because,
      gaps.wrong.length > 0 ? gaps.command : `kcover doctor --fix, or ${gaps.command}`,
    );
  await registerSearchAttributes(connection, target.namespace, gaps.missing);
  for (let tries = 0; tries < 40; tries++) {
    const left = await searchAttributeGaps(connection, target);
    if (left?.missing.length === 0) return ok(check, `registered now: ${gaps.missing.join(', ')}`);
    await sleep(250);
  }
  return warn(check, `registered, but not visible yet: ${gaps.missing.join(', ')}`, 'kcover doctor, in a minute');
}

const queueTypes = { workflows: 1, activities: 2 } as const;

const pollersOf = async ({ client, target }: TemporalExam, name: string, taskQueueType: number) => {
  const { pollers } = await askTemporal(client, `look at task queue ${name}`, () =>
    client.workflowService.describeTaskQueue({ namespace: target.namespace, taskQueue: { name }, taskQueueType }),
  );
  return pollers ?? [];
};

async function workers(exam: TemporalExam): Promise<Finding> {
  const { taskQueue } = exam;
  const served = [
    { what: 'workflows', queue: taskQueue, type: queueTypes.workflows },
    { what: 'activities', queue: taskQueue, type: queueTypes.activities },
    { what: 'waits', queue: waitsTaskQueue(taskQueue), type: queueTypes.activities },
  ];
  const polled = await Promise.all(
    served.map(async ({ what, queue, type }) => ({ what, pollers: await pollersOf(exam, queue, type) })),
  );
  const idle = polled.filter(({ pollers }) => pollers.length === 0);
  if (idle.length > 0)
    return warn(
      'workers',
      `no worker polls task queue ${taskQueue} for ${idle.map(({ what }) => what).join(' and ')}`,
      'start a kcover worker, or name its --task-queue',
    );
  const names = new Set(polled.flatMap(({ pollers }) => pollers.flatMap(({ identity }) => identity ?? [])));
  return ok('workers', `${names.size} on task queue ${taskQueue}: ${[...names].slice(0, 3).join(', ')}`);
}

/** Temporal shows its own time only as the last access of a poller, so this polls a task queue of its own for a moment. */
async function clock(exam: TemporalExam): Promise<Finding> {
  const { client, target } = exam;
  const check = 'clock of temporal';
  const name = `kcover-doctor-${randomUUID()}`;
  const ending = new AbortController();
  const from = Date.now();
  const poll = () =>
    client.workflowService.pollWorkflowTaskQueue({
      namespace: target.namespace,
      taskQueue: { name },
      identity: 'kcover doctor',
    });
  const polling = client
    .withAbortSignal(ending.signal, () => client.withDeadline(from + 15_000, poll))
    .catch(() => undefined);
  try {
    for (let tries = 0; tries < 40; tries++) {
      const [poller] = await pollersOf(exam, name, queueTypes.workflows);
      const at = poller?.lastAccessTime;
      if (at)
        return clockFinding(
          check,
          'Temporal',
          clockOffset(Number(at.seconds) * 1000 + (at.nanos ?? 0) / 1e6, from, Date.now()),
          2000,
        );
      await sleep(100);
    }
    return warn(check, 'Temporal did not report its time', 'compare the clocks by hand');
  } finally {
    ending.abort();
    await polling;
  }
}

/** How far this machine's clock is ahead of a clock that was read between `from` and `to`, ms; 0 when it shows a time between these two. */
export function clockOffset(theirs: number, from: number, to: number): number {
  if (theirs < from) return from - theirs;
  return theirs > to ? to - theirs : 0;
}

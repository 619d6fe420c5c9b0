/** How often a machine, or one of its GPUs, was quarantined for faults: from the records, and from the remedies that Temporal still has. */

import { workflowTypes } from '../../contract/ids.ts';
import type { NodeRecord } from '../../contract/node/nodes.ts';
import type { RecallRequest } from '../../contract/remedy/remedy.ts';
import type { Activities } from '../../contract/wire/activities.ts';
import type { Dependencies } from '../dependencies.ts';

/** What a remedy is started with, so that it is found by its machine. */
interface RemedyMemo {
  readonly incident?: unknown;
  readonly systemUuid?: unknown;
  readonly gpus?: unknown;
}

export function recallActivities({
  records,
  temporal,
  now,
  log,
}: Pick<Dependencies, 'records' | 'temporal' | 'now' | 'log'>): Pick<Activities, 'recallIncidents'> {
  async function fromTemporal(request: RecallRequest, since: number): Promise<readonly string[]> {
    const query = `WorkflowType = '${workflowTypes.remedy}' AND StartTime > '${new Date(since).toISOString()}'`;
    const found: string[] = [];
    for await (const { memo } of temporal().workflow.list({ query })) {
      const { incident, systemUuid, gpus }: RemedyMemo = memo ?? {};
      const named = Array.isArray(gpus) ? gpus : [];
      if (typeof incident === 'string' && isSameMachine(request, systemUuid, named)) found.push(incident);
    }
    return found;
  }

  /** What cannot be read counts as nothing, and is said. */
  const unless = async (what: string, read: Promise<readonly string[]>, unread: string[]): Promise<readonly string[]> =>
    read.catch((error: unknown) => {
      log.warn({ error }, `${what} could not be read: earlier incidents of a machine may be missing`);
      unread.push(what);
      return [];
    });

  return {
    async recallIncidents(request) {
      const since = now() - request.memoryMs;
      const unread: string[] = [];
      const [recorded, remedied] = await Promise.all([
        unless(
          'the records',
          records.quarantinesSince(since).then((all) => all.filter((one) => counts(request, one)).map(idOf)),
          unread,
        ),
        unless("Temporal's list of remedies", fromTemporal(request, since), unread),
      ]);
      const incidents = [...new Set([...recorded, ...remedied, request.incident])].toSorted(byTime);
      return { incidents, ...(unread.length > 0 && { unread: unread.join(', ') }) };
    },
  };
}

const idOf = ({ incident }: NodeRecord): string => incident;

/** A quarantine by a person, or one that only asks, convicts no machine. */
const counts = (request: RecallRequest, { systemUuid, faults, by, asks }: NodeRecord): boolean =>
  by === 'kcover' &&
  asks !== true &&
  isSameMachine(
    request,
    systemUuid,
    faults.flatMap(({ device }) => device ?? []),
  );

const isSameMachine = ({ systemUuid, gpus }: RecallRequest, other: unknown, devices: readonly unknown[]): boolean =>
  (systemUuid !== '' && other === systemUuid) || gpus.some((gpu) => devices.includes(gpu));

/** `node/<name>/<time>` */
const byTime = (a: string, b: string): number => timeOf(a).localeCompare(timeOf(b));
const timeOf = (incident: string): string => incident.split('/').at(-1) ?? '';
